import { pino, type DestinationStream, type Logger as Pino } from 'pino';
import type { LogFields, Logger } from '../../ports/log.js';
import type { LogLevel } from '../../config/config.js';
import { redact } from '../../observability/redact.js';
import { scopeFields } from './request-scopes.js';

/** One JSON object per line, on standard error by default: standard output is for command results. */
export function createLogger(level: LogLevel, destination: DestinationStream = pino.destination(2)): Logger {
  return wrap(
    pino(
      {
        level,
        base: null,
        timestamp: pino.stdTimeFunctions.isoTime,
        formatters: { level: (label) => ({ level: label }) },
        mixin: scopeFields,
        mixinMergeStrategy: ownFirst,
      },
      destination,
    ),
  );
}

/** Fields of the log call override those of the request scope. */
const ownFirst = (own: object, ofScope: object): object => ({ ...ofScope, ...own });

/** Logging must not throw, because last-resort handlers log: if a value cannot be read, the line loses its fields. */
function fieldsOf(fields: LogFields): LogFields {
  try {
    return redact(fields) as LogFields;
  } catch {
    return { fields: '[unreadable]' };
  }
}

function wrap(sink: Pino): Logger {
  const write =
    (level: 'debug' | 'info' | 'warn' | 'error') =>
    (event: string, fields: LogFields = {}): void => {
      if (sink.isLevelEnabled(level)) sink[level]({ event, ...fieldsOf(fields) });
    };
  return {
    debug: write('debug'),
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
    child: (fields) => wrap(sink.child(redact(fields) as LogFields)),
  };
}
