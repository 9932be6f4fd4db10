/**
 * What filters cost, by themselves: `node bench/filters.ts`. Processor time of this thread, for
 * reading one and for judging one item with it.
 */
import { evaluateFilter } from '../src/broker/resource/filter/evaluate.ts';
import { parseExpression } from '../src/broker/resource/filter/expression.ts';

const item = {
  id: 'ttcp_1234567890',
  scope_id: 'p_1234567890',
  scope: { id: 'p_1234567890', type: 'project', name: 'web', parent_scope_id: 'o_1234567890' },
  name: 'web-server-17',
  description: 'Serves the pages of the shop in the north',
  created_time: '2026-11-22T02:41:13.000000000Z',
  updated_time: '2026-11-22T02:41:13.000000000Z',
  version: 3,
  type: 'tcp',
  session_max_seconds: 28_800,
  session_connection_limit: -1,
  attributes: { default_port: 22 },
  authorized_actions: [
    'no-op',
    'read',
    'update',
    'delete',
    'add-host-sources',
    'authorize-session',
  ],
};

const FILTERS = [
  '"/item/name" == "web"',
  '"/item/type" == "tcp" and "/item/attributes/default_port" == 22 and not "/item/version" == 4',
  '"/item/name" contains "server" or "/item/description" contains "shop"',
  '"authorize-session" in "/item/authorized_actions"',
  '"/item/name" matches "^web-[a-z]+-[0-9]+$"',
  '"/item/description" matches "(?i)SHOP|store"',
  'any item.authorized_actions as action { action == "update" or action matches "^authorize" }',
  Array.from({ length: 40 }, (_, at) => `"/item/name" matches "^db-[a-z]{3,8}-${at}$"`).join(
    ' or ',
  ),
];

function microsecondsOf(work: () => void, milliseconds: number): number {
  for (let round = 0; round < 200; round++) work();
  const started = process.cpuUsage();
  let rounds = 0;
  for (const end = performance.now() + milliseconds; performance.now() < end; ) {
    for (let round = 0; round < 20; round++) work();
    rounds += 20;
  }
  const { user, system } = process.cpuUsage(started);
  return (user + system) / rounds;
}

console.log('read, µs  judged, µs  filter');
for (const filter of FILTERS) {
  const parsed = parseExpression(filter);
  if (!parsed.valid) throw new Error(`${filter}: ${parsed.because}`);
  const reading = microsecondsOf(() => parseExpression(filter), 500);
  const judging = microsecondsOf(() => evaluateFilter(parsed.expression, { item }), 500);
  const columns = [reading.toFixed(2).padStart(8), judging.toFixed(3).padStart(10)];
  console.log(`${columns.join('  ')}  ${filter.slice(0, 90)}`);
}
