import { Client } from 'pg';

/**
 * Keeps a node's transactions open on PostgreSQL: with everything written and every row taken, they
 * wait for the place of their audit record, which somebody else has. The committer gives up waiting
 * after a quarter of a second and tries again, so what follows has to come soon.
 */
export class TransactionHolder {
  readonly #client: Client;

  private constructor(client: Client) {
    this.#client = client;
  }

  static async open(url: string): Promise<TransactionHolder> {
    const client = new Client({ connectionString: url, application_name: 'holder' });
    await client.connect();
    return new TransactionHolder(client);
  }

  /** Takes the place of the next record of a node. */
  async hold(node: string): Promise<void> {
    while (!(await this.#takeNext(node))) await this.letGo();
  }

  /** @returns false when a record of something read before came first */
  async #takeNext(node: string): Promise<boolean> {
    await this.#client.query('begin');
    return this.#client
      .query(
        `insert into audit_entry (node, seq, time_ms, record, prev_hash, hash)
           select node, seq + 1, time_ms, '{}', hash, hash from audit_entry
            where node = $1 order by seq desc limit 1`,
        [node],
      )
      .then(
        () => true,
        () => false,
      );
  }

  /** Resolves when a node's transaction waits for somebody else's, or when `done` says so. */
  async untilWaiting(node: string, done: () => boolean): Promise<void> {
    while (!done()) {
      const { rows } = await this.#client.query(
        `select 1 from pg_stat_activity where datname = current_database()
           and application_name = $1 and wait_event_type = 'Lock'`,
        [`gatehouse committer ${node}`],
      );
      if (rows.length > 0) return;
    }
  }

  async letGo(): Promise<void> {
    await this.#client.query('rollback');
  }

  async close(): Promise<void> {
    await this.#client.end();
  }
}
