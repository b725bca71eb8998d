import fc from 'fast-check';
import { createCredentialHeaders } from '../../../core/access/credential-headers.js';
import { GatewayError } from '../../../core/errors.js';
import { failureOf } from '../../harness/checks/failure-of.js';

const GOOD = {
  'x-service-agent': `0x${'aB'.repeat(20)}`,
  'x-service-timestamp': '1767711600000',
  'x-service-nonce': '7',
  'x-service-signature': '0x',
};
const reader = (headers: Readonly<Record<string, string>>) => (name: string) => (Object.hasOwn(headers, name) ? headers[name] : undefined);

describe('credential headers', () => {
  const { read } = createCredentialHeaders(['X-Service-', 'X-Brand-']);

  it('are read as sent', () => {
    const credentials = { agent: GOOD['x-service-agent'], timestamp: 1767711600000, nonce: '7', signature: '0x' };
    expect(read(reader(GOOD))).toEqual({ kind: 'agent', credentials });
  });

  it('are absent when there are none', () => expect(read(reader({}))).toBeNull());

  it('of one prefix are not mixed with those of another', () => {
    const { 'x-service-nonce': nonce, ...rest } = GOOD;
    expect(() => read(reader({ ...rest, 'x-brand-nonce': nonce }))).toThrow(new GatewayError('UNAUTHENTICATED', {}));
  });

  it('that are missing are named', async () => {
    const { 'x-service-agent': agent, 'x-service-nonce': nonce } = GOOD;
    const details = { missing: ['X-Service-Timestamp', 'X-Service-Signature'] };
    const asked = Promise.resolve().then(() => read(reader({ 'x-service-agent': agent, 'x-service-nonce': nonce })));
    expect(await failureOf(asked)).toMatchObject({ code: 'UNAUTHENTICATED', details });
  });

  it('with a signature and an API key are taken as a signature', () => {
    expect(read(reader({ ...GOOD, 'x-service-api-key': 'k' }))?.kind).toBe('agent');
    expect(read(reader({ 'x-brand-api-key': 'k' }))).toEqual({ kind: 'apiKey', apiKey: 'k' });
  });

  it('accept every nonce from 0 to 2^256-1 and no other number', () => {
    const accepts = (nonce: string): boolean => {
      try {
        read(reader({ ...GOOD, 'x-service-nonce': nonce }));
        return true;
      } catch {
        return false;
      }
    };
    fc.assert(fc.property(fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }), (nonce) => accepts(nonce.toString())));
    fc.assert(fc.property(fc.bigInt({ min: 2n ** 256n, max: 2n ** 300n }), (nonce) => !accepts(nonce.toString())));
    fc.assert(fc.property(fc.bigInt({ min: 1n, max: 2n ** 256n }), (nonce) => !accepts(`-${nonce}`) && !accepts(`0${nonce}`)));
  });

  it('of any content are read or refused by a code of the catalogue', () => {
    const names = fc.constantFrom(...Object.keys(GOOD), 'x-service-api-key', 'x-brand-agent', '__proto__');
    fc.assert(
      fc.property(fc.dictionary(names, fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom(...Object.values(GOOD)))), (headers) => {
        try {
          read(reader(headers));
        } catch (error) {
          expect(error).toBeInstanceOf(GatewayError);
          expect(['UNAUTHENTICATED', 'VALIDATION_ERROR']).toContain((error as GatewayError).code);
        }
      }),
    );
  });
});
