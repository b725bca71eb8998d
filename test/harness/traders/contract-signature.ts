import type { TypedDataDomain, TypedDataField, Wallet } from 'ethers';
import type { Sign } from './master-wallet.js';
import type { TestVenue } from '../venue/own-venue.js';

type MasterForms = Record<string, Record<'key' | 'contract', TypedDataField[]> & { readonly optional: string[] }>;

/** The field lists of both forms, read from `GET /v1/{chain}` as a client reads them. */
export async function masterFormsOf(sandbox: TestVenue, chain = 'arbitrum-sepolia'): Promise<MasterForms> {
  return ((await sandbox.get(`/v1/${chain}`)).body as { signing: { masterTypes: MasterForms } }).signing.masterTypes;
}

/** What the owner of a contract wallet signs: the published form that names the account last. */
export const signFor =
  (owner: Pick<Wallet, 'signTypedData'>, domain: TypedDataDomain, forms: MasterForms, trader: string): Sign =>
  (primaryType, message) => {
    const { contract = [], optional = [] } = forms[primaryType] ?? {};
    const fields = contract.filter(({ name }) => !optional.includes(name) || name in message);
    return owner.signTypedData(domain, { [primaryType]: fields }, { ...message, trader });
  };
