import { AbiCoder, JsonRpcProvider, Wallet, concat, getCreate2Address, keccak256, zeroPadValue } from 'ethers';
import type { ChainControls } from '../../../sandbox/controls.js';

/** ERC-1271 by hand: approves exactly what `owner` signed (ecrecover over the first 65 bytes), whatever is asked of it. */
function walletCode(owner: string): string {
  const runtime = concat([
    '0x60043560005260a43560f81c60205260643560405260843560605260206080608060006001', // hash, v, r, s to memory; arguments of the precompile
    '0x5afa50', // ecrecover
    '0x60805173',
    owner,
    '0x14631626ba7e60e01b0260005260206000f3', // the magic value times whether it is the owner
  ]);
  return concat([initOf(runtime), runtime]);
}

/** The well-known CREATE2 factory: salt, then the code to deploy. */
const FACTORY_RUNTIME =
  '0x7fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffe03601600081602082378035828234f58015156039578182fd5b8082525050506014600cf3';

const initOf = (runtime: string): string => `0x60${((runtime.length - 2) / 2).toString(16).padStart(2, '0')}80600b6000396000f3`;

/** Ends every ERC-6492 signature. */
const MAGIC = '0x6492649264926492649264926492649264926492649264926492649264926492';

export interface ContractWallets {
  /** The factory's address. */
  readonly factory: string;
  /** Deploys a wallet for the owner. */
  deploy(owner: string): Promise<string>;
  /** Where the factory would put the owner's wallet, and how a signature says so. */
  foresee(owner: string): { address: string; wrap: (signature: string) => string };
  close(): void;
}

/** `funder` pays for the deployments. */
export async function createContractWallets(chain: ChainControls, funder: string): Promise<ContractWallets> {
  const provider = new JsonRpcProvider(chain.rpcUrl, chain.definition.chainId, {
    staticNetwork: true,
    polling: true,
    pollingInterval: 20,
    cacheTimeout: -1,
  });
  const payer = new Wallet(funder, provider);
  const deploy = async (data: string): Promise<string> => {
    const receipt = await (await payer.sendTransaction({ data })).wait();
    if (receipt?.contractAddress == null) throw new Error('nothing was deployed');
    return receipt.contractAddress;
  };
  const factory = await deploy(concat([initOf(FACTORY_RUNTIME), FACTORY_RUNTIME]));
  const salt = zeroPadValue('0x01', 32);
  return {
    factory,
    deploy: (owner) => deploy(walletCode(owner)),
    foresee: (owner) => ({
      address: getCreate2Address(factory, salt, keccak256(walletCode(owner))),
      wrap: (signature) =>
        concat([
          AbiCoder.defaultAbiCoder().encode(['address', 'bytes', 'bytes'], [factory, concat([salt, walletCode(owner)]), signature]),
          MAGIC,
        ]),
    }),
    close: () => provider.destroy(),
  };
}
