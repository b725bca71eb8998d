import { clientTypes, writtenTypes } from '../../scripts/generate-client-types.js';

describe('what the client knows of the API', () => {
  it('is what the registry of operations generates: `npm run client:types`', async () => {
    for (const [name, text] of Object.entries(await clientTypes())) expect([name, writtenTypes(name)]).toEqual([name, text]);
  });
});
