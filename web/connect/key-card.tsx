import { useSignal } from '@preact/signals';
import { CopyButton } from '../ui/copy.js';

interface KeyCardProps {
  readonly secret: string;
  /** Name of the downloaded file. */
  readonly file: string;
  readonly what?: string;
  readonly onStored: () => void;
}

/** A secret, shown once. It goes to the clipboard or into a file when the person asks for it, and nowhere else. */
export function KeyCard({ secret, file, what = 'agent key', onStored }: KeyCardProps) {
  const isStored = useSignal(false);
  return (
    <div class="key-card">
      <h3>Your {what}, shown once</h3>
      <p>Anyone who has it can do what it allows. Store it where your bot reads its secrets; it is not shown again.</p>
      <div class="key-row">
        <code class="secret">{secret}</code>
        <CopyButton text={secret} label="Copy key" />
        <button type="button" class="button small" onClick={() => download(secret, file)}>
          Download
        </button>
      </div>
      <label class="check">
        <input type="checkbox" checked={isStored.value} onChange={({ currentTarget }) => void (isStored.value = currentTarget.checked)} />I
        stored it
      </label>
      <div class="button-row">
        <button type="button" class="button main" disabled={!isStored.value} onClick={onStored}>
          Hide the key and go on
        </button>
      </div>
    </div>
  );
}

function download(text: string, name: string): void {
  const link = document.createElement('a');
  const url = URL.createObjectURL(new Blob([`${text}\n`], { type: 'text/plain' }));
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
}
