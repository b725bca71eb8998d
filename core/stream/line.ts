/** A socket as the doors see it. Whoever hosts it speaks the transport; nobody else knows which one it is. */
export interface Line {
  /** In order. `sent` is called once the network has taken it, or the line is gone. */
  send(text: string, sent: () => void): void;
  /** Says goodbye; a peer that does not answer is cut a moment later. */
  close(code: CloseCode, reason: string): void;
  /** For a fault that no handler could answer: it is logged and ends the connection. Never throws, so it can stand at the end of any chain. */
  fail(error: unknown): void;
}

export interface LineListener {
  /** One whole message. */
  message(bytes: Uint8Array, isBinary: boolean): void;
  /** A sign of life that carries no message. */
  alive(): void;
  /** The line is gone, whoever ended it; called once. */
  closed(): void;
  /** Resolves when nothing that was asked waits for its answer; absent where answers do not wait. */
  settled?(): Promise<void>;
}

/** Going away; broke the rules of talking; the service restarts; cannot keep up. */
export const CLOSE_CODES = { away: 1001, policy: 1008, restart: 1012, slow: 1013 } as const;
export type CloseCode = (typeof CLOSE_CODES)[keyof typeof CLOSE_CODES];
