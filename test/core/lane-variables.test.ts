import { LANE_DEFAULTS, readLaneConfig } from '../../core/config/relayer.js';

const read = (variables: Record<string, string>) => {
  const problems: string[] = [];
  return { lane: readLaneConfig('arbitrum-sepolia', { variables, problems }), problems };
};

describe('the settings of lanes', () => {
  it('are patient and take collateral back where nothing is said', () => {
    expect(read({})).toEqual({ lane: LANE_DEFAULTS, problems: [] });
  });

  it('are said for each chain', () => {
    const { lane, problems } = read({ RELAYER_STUCK_SECONDS_ARBITRUM_SEPOLIA: '30', RELAYER_RECLAIM_ARBITRUM_SEPOLIA: 'off' });
    expect([lane.waits.stuckMs, lane.isReclaiming, problems]).toEqual([30_000, false, []]);
  });

  it('are refused all at once where they make no sense', () => {
    expect(read({ RELAYER_STUCK_SECONDS_ARBITRUM_SEPOLIA: '0', RELAYER_RECLAIM_ARBITRUM_SEPOLIA: 'never' }).problems).toEqual([
      'RELAYER_STUCK_SECONDS_ARBITRUM_SEPOLIA must be 1 to 60 seconds',
      'RELAYER_RECLAIM_ARBITRUM_SEPOLIA must be on or off',
    ]);
  });
});
