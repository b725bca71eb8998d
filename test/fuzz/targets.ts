import type { Input, Numbered } from './input.js';
import type { Materials } from './materials.js';
import { createRandom, type Random } from './random.js';
import { facadeFrame, infoQuestion, signedAction, unsignedAction } from './targets-facade.js';
import { masterMessage, nativeFrame, orderSequence, publicRead, signedRequest, unsignedWrite } from './targets-native.js';
import { metricsRead, operatorCall, sandboxCall } from './targets-operator.js';
import { anyPath, brokenFrames, brokenHead, noise } from './targets-raw.js';

interface Target {
  readonly name: string;
  /** Of a thousand inputs. Those that reach the node or take a transaction are expensive, and therefore few. */
  readonly share: number;
  readonly make: (materials: Materials, random: Random) => Input;
}

export const TARGETS: readonly Target[] = [
  { name: 'v1 public', share: 190, make: publicRead },
  { name: 'v1 without credentials', share: 130, make: unsignedWrite },
  { name: 'v1 signed', share: 16, make: signedRequest },
  { name: 'v1 master', share: 40, make: masterMessage },
  { name: 'v1 order sequence', share: 1, make: orderSequence },
  { name: 'v1 socket', share: 180, make: nativeFrame },
  { name: 'hl info', share: 120, make: infoQuestion },
  { name: 'hl unsigned', share: 110, make: unsignedAction },
  { name: 'hl signed', share: 6, make: signedAction },
  { name: 'hl socket', share: 150, make: facadeFrame },
  { name: 'operator', share: 20, make: operatorCall },
  { name: 'metrics', share: 1, make: metricsRead },
  { name: 'sandbox', share: 16, make: sandboxCall },
  { name: 'any path', share: 20, make: anyPath },
  { name: 'broken head', share: 13, make: brokenHead },
  { name: 'noise', share: 6, make: noise },
  { name: 'broken frames', share: 6, make: brokenFrames },
];

const ALL_SHARES = TARGETS.reduce((sum, { share }) => sum + share, 0);

/** The same seed and index make the same input, whatever was made before. */
export function makeInput(materials: Materials, seed: number, index: number): Numbered {
  const random = createRandom(seed, index);
  let left = random.fraction() * ALL_SHARES;
  const target = TARGETS.find(({ share }) => (left -= share) < 0) ?? TARGETS[0];
  if (target === undefined) throw new Error('there are no targets');
  return { index, target: target.name, input: target.make(materials, random) };
}
