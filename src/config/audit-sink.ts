export type AuditSinkConfig =
  | { type: 'file'; path: string }
  | { type: 'stdout' }
  | { type: 'syslog'; address: string; facility: string; tag: string };

/** A sink's name in logs and under which its progress is kept. */
export function sinkName(sink: AuditSinkConfig): string {
  switch (sink.type) {
    case 'file':
      return `file:${sink.path}`;
    case 'syslog':
      return `syslog:${sink.address}`;
    case 'stdout':
      return 'stdout';
  }
}
