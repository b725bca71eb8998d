import { GatewayError } from '../../errors.js';
import { within, type Clock } from '../../ports/clock.js';
import type { ForeignNotice, NoticeSource } from '../../ports/stores/notifications.js';
import type { Address } from '../../types.js';

const TIMEOUT_MS = 8_000;
const MAX_BYTES = 1024 * 1024;
const MAX_NOTICES = 100;

/** The protocol's `GET /api/notifications/{address}`; items without an integer id are skipped, because they could not be dismissed. */
export function createBackendNotices(baseUrl: string, clock: Clock): NoticeSource {
  return {
    async list(address) {
      try {
        return noticesIn(await within(clock, TIMEOUT_MS, (signal) => ask(baseUrl, address, signal)));
      } catch (error) {
        throw new GatewayError('UPSTREAM_UNAVAILABLE', { upstream: 'notifications' }, { cause: error });
      }
    },
  };
}

async function ask(baseUrl: string, address: Address, signal: AbortSignal): Promise<unknown> {
  const response = await fetch(`${baseUrl.replace(/\/+$/, '')}/api/notifications/${address}`, { signal });
  if (!response.ok) throw new Error(`status ${response.status}`);
  const text = await response.text();
  if (text.length > MAX_BYTES) throw new Error('the answer is too long');
  return JSON.parse(text);
}

function noticesIn(answer: unknown): ForeignNotice[] {
  const items = Array.isArray(answer) ? answer : isRecord(answer) ? (answer['notifications'] ?? answer['data']) : undefined;
  if (!Array.isArray(items)) throw new Error('the answer has no list');
  return items.slice(0, MAX_NOTICES).flatMap((item: unknown) => (isRecord(item) ? (readNotice(item) ?? []) : []));
}

function readNotice(item: Record<string, unknown>): ForeignNotice | null {
  const { id } = item;
  if (typeof id !== 'number' || !Number.isSafeInteger(id) || id < 0 || id > 2 ** 48) return null;
  return {
    id,
    title: textIn(item, ['title', 'type', 'kind']),
    body: textIn(item, ['body', 'message', 'text']),
    createdAt: timeIn(item['createdAt'] ?? item['date']),
  };
}

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value);
const textIn = (item: Record<string, unknown>, names: readonly string[]): string =>
  (names.map((name) => item[name]).find((value) => typeof value === 'string') ?? '').slice(0, 2_000);

/** Epoch ms, epoch seconds or an ISO text; 0 when it cannot be parsed. */
function timeIn(value: unknown): number {
  const time = typeof value === 'number' ? (value < 10 ** 11 ? value * 1000 : value) : typeof value === 'string' ? Date.parse(value) : 0;
  return Number.isFinite(time) && time > 0 ? Math.trunc(time) : 0;
}
