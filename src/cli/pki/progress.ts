/** What `tidy-status` says, as far as it is shown. */
export interface Progress {
  state: string;
  message: string;
  total: number;
  done: number;
}

export function progressOf(data: unknown): Progress {
  const field = (name: string): unknown =>
    typeof data === 'object' && data !== null ? Reflect.get(data, name) : undefined;
  const count = (name: string): number => Number(field(name) ?? 0) || 0;
  return {
    state: String(field('state') ?? ''),
    message: String(field('error') ?? field('message') ?? ''),
    total: count('total_count'),
    done: count('processed_count'),
  };
}

export const isOver = ({ state }: Pick<Progress, 'state'>): boolean =>
  state !== 'Running' && state !== 'Cancelling';

const WIDTH = 30;

/** One line: `[#####.....]  50% 500 of 1000`. Before it is known how much there is, no share is told. */
export function barOf({ total, done, state }: Progress): string {
  if (total === 0) return isOver({ state }) ? 'nothing was to go' : 'finding out what is to go';
  const share = Math.min(1, done / total);
  const full = Math.floor(share * WIDTH);
  const percent = `${Math.floor(share * 100)}`.padStart(3);
  return `[${'#'.repeat(full)}${'.'.repeat(WIDTH - full)}] ${percent}% ${done} of ${total}`;
}
