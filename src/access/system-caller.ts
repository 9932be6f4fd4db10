import type { Caller } from '../app/caller.ts';
import { Ending } from '../app/ended.ts';
import type { Mount } from '../app/mount.ts';
import { EMPTY_CONFIG } from '../mounts/rules.ts';

/** Stands for `sys/` where no mount is read: at start, and in periodic work of the server's own. */
export const SERVER_MOUNT: Mount = {
  id: '',
  kind: 'secret',
  path: 'sys/',
  type: 'system',
  accessor: '',
  description: '',
  local: false,
  seal_wrap: false,
  external_entropy_access: false,
  options: null,
  config: EMPTY_CONFIG,
};

/** As another thread can be told who calls. */
export interface ToldCaller {
  mount: Mount;
  remote_address: string;
}

export const toldOf = ({ mount, record: { remote_address } }: Caller): ToldCaller => ({
  mount,
  remote_address,
});

/** Stands for a caller on another thread, in work that is not recorded as theirs. @param work as {@link systemCaller} */
export function callerTold(
  request_id: string,
  work: string,
  { mount, remote_address }: ToldCaller,
): Caller {
  const { record, ...caller } = systemCaller(request_id, work);
  return { ...caller, mount, record: { ...record, remote_address } };
}

/**
 * The caller of what the server does by itself.
 *
 * @param work names it in audit records, e.g. `start`
 */
export function systemCaller(request_id: string, work: string): Caller {
  return {
    request_id,
    token: undefined,
    acl: undefined,
    mount: SERVER_MOUNT,
    identity: undefined,
    headers: {},
    wrap_ttl: undefined,
    record: {
      route: work,
      operation: 'update',
      path: '',
      remote_address: '',
      request: {},
      outcome: {},
      ended_before: {},
    },
    ending: new Ending(),
    recorded: false,
  };
}
