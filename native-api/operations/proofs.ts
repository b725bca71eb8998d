import { getRelayProof } from '../../core/trading/get-proof.js';
import { venueOperation, type Operation } from '../operation.js';
import { ProofPath, RelayProof } from '../wire/proofs.js';

export const proofOperations: readonly Operation[] = [
  venueOperation({
    id: 'getRelayProof',
    method: 'GET',
    path: '/account/:address/proofs/:txHash',
    auth: 'reader',
    summary:
      'Why the relayer signed a transaction: the envelope its owner signed, what it was taken to mean, and the call data. `scripts/verify-proof.mjs` checks it offline.',
    params: ProofPath,
    reply: RelayProof,
    errors: ['ORDER_NOT_FOUND'],
    handle: ({ gateway, venue, caller, params }) => getRelayProof(gateway, venue, caller, params.txHash),
  }),
];
