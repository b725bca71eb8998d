import type { LogFields, Logger } from '../../../core/ports/log.js';

export interface RecordedLog extends Logger {
  readonly entries: { readonly level: string; readonly event: string; readonly fields: LogFields }[];
}

/** Writes nothing and keeps every entry, for tests that check what was logged. */
export function createRecordedLog(): RecordedLog {
  const entries: RecordedLog['entries'] = [];
  const at =
    (level: string) =>
    (event: string, fields: LogFields = {}): void =>
      void entries.push({ level, event, fields });
  const log: RecordedLog = { entries, debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error'), child: () => log };
  return log;
}
