import { useSignal, type ReadonlySignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { ClientError, ChainError, GatewayError, VerificationError } from '@diamond-gateway/client/errors';
import type { Answer, Problem } from '../api/request.js';
import { ProblemNote } from '../ui/panel.js';
import { Address } from '../ui/values.js';
import { isWalletRefusal } from './wallets.js';

/** Where an action stands that needs the wallet, the chain or the gateway. */
export type Step =
  | { readonly kind: 'idle' }
  /** A window of the wallet waits for the person. */
  | { readonly kind: 'wallet'; readonly text: string }
  | { readonly kind: 'working'; readonly text: string }
  | { readonly kind: 'sent'; readonly hash: string }
  | { readonly kind: 'mined'; readonly hash: string }
  | { readonly kind: 'done'; readonly text: string; readonly hash: string | null }
  | { readonly kind: 'refused' }
  | { readonly kind: 'failed'; readonly problem: Problem };

export type Report = (step: Step) => void;
/** Answers the sentence that says what was reached. */
export type Run = (report: Report) => Promise<{ readonly text: string; readonly hash?: string }>;

export interface Action {
  readonly step: ReadonlySignal<Step>;
  readonly isBusy: boolean;
  readonly start: (run: Run) => void;
}

const BUSY: ReadonlySet<Step['kind']> = new Set(['wallet', 'working', 'sent', 'mined']);

/** One action at a time; a component that is gone is not written to. */
export function useAction(): Action {
  const step = useSignal<Step>({ kind: 'idle' });
  const turn = useRef(0);
  useEffect(() => () => void (turn.current += 1), []);
  const start = (run: Run): void => {
    if (BUSY.has(step.peek().kind)) return;
    const mine = (turn.current += 1);
    const report: Report = (next) => {
      if (mine === turn.current) step.value = next;
    };
    report({ kind: 'working', text: 'Starting…' });
    run(report).then(
      ({ text, hash = null }) => report({ kind: 'done', text, hash }),
      (error: unknown) => report(isWalletRefusal(error) ? { kind: 'refused' } : { kind: 'failed', problem: problemOf(error) }),
    );
  };
  return { step, isBusy: BUSY.has(step.value.kind), start };
}

/** The answer's data, or its problem thrown for the action to show. */
export function take<Data>(answer: Answer<Data>): Data {
  if (answer.ok) return answer.data;
  throw Object.assign(new Error(answer.problem.message), { problem: answer.problem });
}

const plain = (code: string, message: string): Problem => ({
  status: 0,
  code,
  message,
  details: {},
  requestId: null,
  retryAfterSeconds: null,
});

/** The client puts operation and code before the gateway's sentence; the note shows the code by itself. */
const CLIENT_WORDS = /^\w+ was refused with \d+ \w+: /;

/** A sentence for whatever was thrown: by the gateway, the client, the chain or the wallet. */
export function problemOf(error: unknown): Problem {
  if (!(error instanceof Error)) return walletProblem(error);
  if ('problem' in error) return error.problem as Problem;
  if (error instanceof GatewayError)
    return { ...plain(error.code, error.message.replace(CLIENT_WORDS, '')), status: error.status, details: error.details };
  if (error instanceof VerificationError) return plain('NOT_SIGNED', `Nothing was signed. ${error.message}`);
  if (error instanceof ClientError) return plain('CLIENT', error.message);
  if (error instanceof ChainError) return plain('CHAIN', error.message);
  return walletProblem(error);
}

/** Wallets throw plain objects, too. */
function walletProblem(error: unknown): Problem {
  const { code, message } = (typeof error === 'object' && error !== null ? error : {}) as { code?: unknown; message?: unknown };
  return plain(
    typeof code === 'number' ? `WALLET ${code}` : 'WALLET',
    typeof message === 'string' ? message : 'The wallet gave no reason.',
  );
}

/** The state of an action in words; a refusal in the wallet is a decision, no error. */
export function StepNote({ step }: { readonly step: Step }) {
  if (step.kind === 'idle') return null;
  if (step.kind === 'failed') return <Failure problem={step.problem} />;
  return (
    <p class={`step ${step.kind}`} role="status" data-step={step.kind}>
      {textOf(step)} {'hash' in step && step.hash !== null ? <Address value={step.hash} label="Copy hash" /> : null}
    </p>
  );
}

/** Problems of the wallet, the chain and the client have no request id. */
function Failure({ problem }: { readonly problem: Problem }) {
  if (problem.requestId !== null) return <ProblemNote problem={problem} />;
  return (
    <div class="problem" role="alert">
      <p>
        <strong>{problem.code}</strong> {problem.message}
      </p>
    </div>
  );
}

function textOf(step: Exclude<Step, { kind: 'idle' | 'failed' }>): string {
  switch (step.kind) {
    case 'wallet':
      return `Waiting for the wallet: ${step.text}`;
    case 'sent':
      return 'Sent. Waiting until it is mined.';
    case 'mined':
      return 'Mined. Checking the line again.';
    case 'refused':
      return 'You declined in the wallet. Nothing was signed, and nothing has changed.';
    case 'working':
    case 'done':
      return step.text;
  }
}
