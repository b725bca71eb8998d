import { pino, type DestinationStream, type Logger as Pino } from 'pino';
import type { LogFields, Logger } from '../../ports/log.js';
import type { LogLevel } from '../../config/config.js';
import { redact } from '../../observability/redact.js';
import { scopeFields } from './request-scopes.js';

/** One JSON object per line on standard error by default: standard output belongs to what a person asked for. */
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

/** A line that names its request itself knows better. */
const ownFirst = (own: object, ofScope: object): object => ({ ...ofScope, ...own });

/** Handlers of last resort log, so logging must not throw: a value that cannot be read costs its line the fields. */
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
