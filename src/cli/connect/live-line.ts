import type { Tally } from '../../worker/client/local-proxy.ts';

/**
 * What a proxy is doing, in one line.
 *
 * @param left_ms until the session expires
 */
export function liveLine(tally: Tally, left_ms: number): string {
  const { open, total, connections_left } = tally;
  const left = connections_left < 0 ? '' : `, ${connections_left} left`;
  return [
    `${open} ${open === 1 ? 'connection' : 'connections'} (${total} in all${left})`,
    `${sizeText(tally.bytes_up)} up`,
    `${sizeText(tally.bytes_down)} down`,
    `${timeText(left_ms)} left`,
  ].join(' · ');
}

const UNITS = ['kB', 'MB', 'GB', 'TB', 'PB'] as const;

function sizeText(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  let size = bytes / 1000;
  let unit = 0;
  while (size >= 999.95 && unit < UNITS.length - 1) {
    size /= 1000;
    unit += 1;
  }
  return `${size.toFixed(1)} ${UNITS[unit]}`;
}

/** Two units at the most, since nobody plans by the seconds of an hour. */
function timeText(ms: number): string {
  const seconds = Math.max(0, Math.ceil(ms / 1000));
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor((seconds % 3600) / 60)];
  if (hours >= 48) return `${Math.floor(hours / 24)} d ${hours % 24} h`;
  if (hours > 0) return `${hours} h ${minutes} min`;
  return minutes > 0 ? `${minutes} min ${seconds % 60} s` : `${seconds} s`;
}
