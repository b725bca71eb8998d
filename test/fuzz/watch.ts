import type { LogFields } from '../../core/ports/log.js';
import type { RecordedLog } from '../harness/checks/recorded-log.js';

/** Something that must not happen, and which inputs may have caused it. */
export interface Finding {
  readonly kind: 'status' | 'no answer' | 'log' | 'rejection' | 'exception' | 'socket' | 'venue';
  /** The same for findings of the same cause. */
  readonly signature: string;
  readonly text: string;
  /** Known where the service named the request; otherwise one of `suspects`. */
  readonly index: number | null;
  readonly suspects: readonly number[];
}

export interface Watch {
  readonly log: RecordedLog;
  readonly findings: Finding[];
  report(finding: Omit<Finding, 'suspects'>): void;
  /** Inputs that are under way; the last ones stay suspects for a while after their answer. */
  enter(index: number): void;
  leave(index: number): void;
  stop(): void;
}

export const REQUEST_ID = 'fz-';
const MOST_FINDINGS = 2_000;
const RECENT = 64;

/** Records the faults of the service: errors in its log, unhandled rejections and uncaught exceptions. */
export function createWatch(): Watch {
  const findings: Finding[] = [];
  const underWay = new Set<number>();
  const recent: number[] = [];

  const report: Watch['report'] = (finding) => {
    if (findings.length < MOST_FINDINGS) findings.push({ ...finding, suspects: finding.index === null ? [...underWay, ...recent] : [] });
  };

  const nothing = (): void => undefined;
  const log: RecordedLog = {
    entries: [],
    debug: nothing,
    info: nothing,
    warn: nothing,
    error(event: string, fields: LogFields = {}) {
      const { requestId } = fields;
      const index = typeof requestId === 'string' ? /^fz-(\d+)$/.exec(requestId)?.[1] : undefined;
      const words = faultText(fields['error']);
      report({
        kind: 'log',
        signature: signatureOf(`${event} ${words}`),
        text: `error in the log: ${event} ${words}`,
        index: index === undefined ? null : Number(index),
      });
    },
    child: () => log,
  };

  const onRejection = (reason: unknown): void =>
    report({
      kind: 'rejection',
      signature: signatureOf(faultText(reason)),
      text: `unhandled rejection: ${faultText(reason)}`,
      index: null,
    });
  const onException = (error: unknown): void =>
    report({ kind: 'exception', signature: signatureOf(faultText(error)), text: `uncaught exception: ${faultText(error)}`, index: null });
  process.on('unhandledRejection', onRejection);
  process.on('uncaughtException', onException);

  return {
    log,
    findings,
    report,
    enter: (index) => void underWay.add(index),
    leave(index) {
      if (!underWay.delete(index)) return;
      recent.push(index);
      if (recent.length > RECENT) recent.shift();
    },
    stop() {
      process.off('unhandledRejection', onRejection);
      process.off('uncaughtException', onException);
    },
  };
}

const OWN_CODE = /\((?:file:\/\/)?[^)]*?\/((?:core|facade|native-api|relayer|sandbox)\/[^):]+):(\d+)/;

/** Name, message and the first place in our own code; the rest of the stack differs from run to run. */
export function faultText(fault: unknown): string {
  if (!(fault instanceof Error)) return String(fault).slice(0, 200);
  const [, file = '', line = ''] = OWN_CODE.exec(fault.stack ?? '') ?? [];
  const [first = ''] = fault.message.split('\n');
  return `${fault.name}: ${first.slice(0, 160)}${file === '' ? '' : ` (${file}:${line})`}`;
}

/** Without what the input itself brought: quoted words, hex and numbers. */
export const signatureOf = (text: string): string =>
  text
    .replace(/"[^"]*"?/g, '"…"')
    .replace(/0x[0-9a-fA-F]+/g, '0x…')
    .replace(/\d+(?!\)$)/g, '#');
