import { startSimulationServer } from '../test/simulation/database-server.js';
import { drawPlan } from '../test/simulation/plan.js';
import { runPlan } from '../test/simulation/run.js';
import { writeFileSync } from 'node:fs';
const perf = performance.now.bind(performance);
const s = await startSimulationServer();
let k = 0;
const noFaults = process.argv[3] !== 'faults';
for (const seed of (process.argv[2] ?? '1,1,2,2').split(',').map(Number)) {
  const t = perf(); const c = process.cpuUsage();
  const lines: string[] = [];
  try {
  const r = await runPlan({ server: s, plan: drawPlan(seed, { areFaultsOff: noFaults }), onLine: (l) => lines.push(l) });
  const u = process.cpuUsage(c);
  console.log('seed', seed, 'replicas', r.plan.replicas, 'ran', Math.round(perf()-t), 'ms; cpu', Math.round((u.user+u.system)/1000), 'sim', r.simulatedMs, 'steps', r.steps, r.hash.slice(0,12), 'faults', r.faults.join(','));
  const byStatus = new Map<string, number>();
  for (const w of r.diary.wishes) { const key = `${w.door} ${w.kind}: ${w.answers.map((a) => a.status).join(' / ')}`; byStatus.set(key, (byStatus.get(key) ?? 0) + 1); }
  console.log([...byStatus].map(([a, b]) => `   ${b} ${a}`).join('\n'), r.diary.counts);
  for (const v of r.violations) console.log('  VIOLATION', v.invariant, v.text.slice(0, 1500));
  } catch (e) { console.log('FAILED', e); }
  writeFileSync(`/tmp/w/trace-${++k}.txt`, lines.join('\n'));
}
await s.stop();
process.exit(0);
