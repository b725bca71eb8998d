interface OlderButtonProps {
  readonly hasOlder: boolean;
  readonly isReading: boolean;
  readonly onClick: () => void;
}

export function OlderButton({ hasOlder, isReading, onClick }: OlderButtonProps) {
  if (!hasOlder) return null;
  return (
    <div class="older">
      <button type="button" class="button" disabled={isReading} onClick={onClick}>
        {isReading ? 'Reading…' : 'Show older'}
      </button>
    </div>
  );
}
