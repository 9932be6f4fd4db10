import { setTimeout as pause } from 'node:timers/promises';
import { Client } from 'pg';
import { Failure } from '../../core/failure.ts';
import type { ChainHead } from '../../core/record-chain.ts';
import { KeptHolds } from '../kept-holds.ts';
import { PreparedNames } from '../pipeline.ts';
import { readHead, requireKept } from './head.ts';
import { BY_INDEX, lockKey, sessionConfig } from './session.ts';
import type { Session } from './transaction.ts';

/** How long a node's name may still be held by a process that is just ending. */
const NAME_WAIT_MS = 2_000;

// One round trip: nothing here waits for us for long, and nothing of ours for others.
// A short lock_timeout takes the place of the server's deadlock detection, which waits a
// second: two nodes that wait for each other both give up soon, and try again apart.
const SESSION_SETTINGS = `
  set default_transaction_isolation = 'read committed';
  set default_transaction_read_only = off;
  set lock_timeout = '250ms';
  set statement_timeout = '15s';
  set idle_in_transaction_session_timeout = '10s';
  set bytea_output = 'hex';
  ${BY_INDEX}
  set tcp_keepalives_idle = 10;
  set tcp_keepalives_interval = 5;
  set tcp_keepalives_count = 3;
  select set_config('synchronous_commit', 'on', false)
    where current_setting('synchronous_commit') = 'off'`;

/** The sessions in which a node writes, one at a time: each holds the name of the node. */
export class WritingSessions {
  readonly #url: string;
  readonly #node: string;
  /** The server's process of the last session, 0 before the first. */
  #pid = 0;

  constructor(url: string, node: string) {
    this.#url = url;
    this.#node = node;
  }

  /**
   * @param durable the last record that was seen to be durable
   * @param onBroken told of a connection that is lost, also before it is handed out
   */
  async open(durable: ChainHead | undefined, onBroken: (client: Client) => void): Promise<Session> {
    const client = new Client(sessionConfig(this.#url, `committer ${this.#node}`));
    client.on('error', () => onBroken(client));
    try {
      await client.connect();
      await client.query(SESSION_SETTINGS);
      await this.#takeName(client);
      const head = await readHead(client, this.#node);
      await requireKept(client, this.#node, { durable, head });
      const holds = new KeptHolds(await readTriggered(client));
      return { client, names: new PreparedNames(), head, holds };
    } catch (error) {
      client.end().catch(() => {});
      throw error;
    }
  }

  /**
   * Makes sure that nobody else writes under this node's name: its audit chain has one end.
   * The lock is the session's, so a former session of our own has to be gone as well, and
   * with it the last batch whose outcome we do not know.
   */
  async #takeName(client: Client): Promise<void> {
    const key = lockKey(`node ${this.#node}`);
    const deadline = performance.now() + NAME_WAIT_MS;
    for (;;) {
      const { rows } = await client.query<{ taken: boolean; pid: number }>(
        'select pg_try_advisory_lock($1) as taken, pg_backend_pid() as pid',
        [key],
      );
      if (rows[0]?.taken) {
        this.#pid = rows[0].pid;
        return;
      }
      if (performance.now() > deadline) {
        throw new Failure(
          'unavailable',
          `another process runs as node "${this.#node}": give each node a name of its own`,
        );
      }
      // The server may not have noticed yet that our last connection has gone.
      await client.query(
        `select pg_terminate_backend(pid) from pg_locks
          where locktype = 'advisory' and objsubid = 1 and pid = $2
            and (classid::bigint << 32) | objid::bigint = $1::bigint`,
        [key, this.#pid],
      );
      await pause(100);
    }
  }
}

/** Tables whose triggers write others, or may; those that keep foreign keys do not, but for deletions. */
async function readTriggered(client: Client): Promise<Set<string>> {
  const { rows } = await client.query<{ name: string }>(
    `select distinct pg_class.relname as name from pg_trigger
      join pg_class on pg_class.oid = pg_trigger.tgrelid where not pg_trigger.tgisinternal`,
  );
  return new Set(rows.map(({ name }) => name));
}
