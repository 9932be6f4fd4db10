import { whileConnected } from '../../../access/presence.ts';
import type { App } from '../../../app/app.ts';
import { Failure } from '../../../core/failure.ts';
import { hostDefinition } from '../../hosts/hosts/operations.ts';
import type { BrokerCaller } from '../../resource/caller.ts';
import { refuseField } from '../../resource/field-errors.ts';
import { isOf } from '../../resource/handler.ts';
import { listLinksFrom } from '../../resource/links/store.ts';
import type { Resource } from '../../resource/resource.ts';
import { findResource } from '../../resource/store.ts';
import {
  chooseMember,
  type Endpoint,
  type Member,
  type MemberVerdict,
  NO_HOSTS,
  NOT_AMONG_THEM,
} from '../../sessions/endpoint.ts';
import { MOST_HOST_SETS } from '../sources.ts';
import type { TargetBody } from '../target.ts';
import { countAll, drawSome, ownerOf, placeOf, type SetSize } from './draw.ts';
import { findHostAt, listSetsWith, listSizes, listSomeMembers } from './store.ts';

/** So many are all read, and one of them is chosen. */
const FEW = 256;

/**
 * Finds where a session leads to.
 *
 * @param request.host_id empty for any of the target's hosts, each as likely as any other
 * @throws Failure `not_found` for a target without hosts, `invalid` for a host that is none of them, or of a target
 *   with an address
 */
export async function findEndpoint(
  app: App,
  caller: BrokerCaller,
  { target, host_id }: { target: Resource<Pick<TargetBody, 'address'>>; host_id: string },
): Promise<Endpoint> {
  const { address } = target.body;
  // With an address of its own there is nothing to choose from, and who asks for a host does not mean it.
  if (address !== '' && host_id === '') return { host_id: '', host_set_id: '', address };
  if (address !== '') return refuseField('host_id', NOT_AMONG_THEM.because);
  const verdict = await findMember(app, caller, { target, host_id });
  if ('chosen' in verdict) return endpointOf(app, verdict.chosen);
  if (verdict.refused === 'none') throw new Failure('not_found', verdict.because);
  return refuseField('host_id', verdict.because);
}

async function findMember(
  app: App,
  caller: BrokerCaller,
  { target, host_id }: { target: Resource; host_id: string },
): Promise<MemberVerdict> {
  const some = await listSomeMembers(app.db, target.id, FEW + 1);
  if (some.length <= FEW) return chooseMember(some, host_id, roll(app));
  const sets = await listLinksFrom(app.db, target.id, 'target-host-source');
  if (host_id === '')
    return whileConnected(caller, (requireConnected) => draw(app, sets, requireConnected));
  const host_set_id = ownerOf(await listSetsWith(app.db, sets, host_id));
  return host_set_id === undefined ? NOT_AMONG_THEM : { chosen: { host_id, host_set_id } };
}

/** Six bytes: the hosts of all sets together are nothing beside it. */
function roll(app: App): number {
  return Buffer.from(app.randomBytes(6)).readUIntBE(0, 6) / 2 ** 48;
}

/** Draws until what is drawn counts: about as often as a host is in several of the sets. */
async function draw(
  app: App,
  all: readonly string[],
  requireConnected: () => void,
): Promise<MemberVerdict> {
  let left = all;
  while (left.length > 0) {
    // A target may have more of them from before there was a bound: others are drawn each time.
    const sets = drawSome(left, MOST_HOST_SETS, () => roll(app));
    const sizes = await listSizes(app.db, sets);
    const total = countAll(sizes);
    while (total > 0) {
      requireConnected();
      const chosen = await findDrawn(app, sizes, Math.floor(roll(app) * total));
      if (chosen) return { chosen };
    }
    const empty = new Set(sets);
    left = left.filter((id) => !empty.has(id));
  }
  return NO_HOSTS;
}

/**
 * The host at a number among those of some sets.
 *
 * @returns undefined for one that counts in another of the sets
 */
export async function findDrawn(
  app: Pick<App, 'db'>,
  sizes: readonly SetSize[],
  at: number,
): Promise<Member | undefined> {
  const place = placeOf(sizes, at);
  if (!place) throw new RangeError(`no host of some sets has the number ${at}`);
  const { host_set_id } = place;
  const host_id = await findHostAt(app.db, host_set_id, place.at);
  if (host_id === undefined) throw changed();
  const sets = sizes.map((one) => one.host_set_id);
  const owner = ownerOf(await listSetsWith(app.db, sets, host_id));
  return owner === host_set_id ? { host_id, host_set_id } : undefined;
}

async function endpointOf(app: App, member: Member): Promise<Endpoint> {
  const host = await findResource(app.db, member.host_id);
  if (!isOf(hostDefinition, host)) throw changed();
  return { ...member, address: host.body.address };
}

/** The session is planned anew. */
const changed = (): Failure =>
  new Failure('conflict', 'the hosts of the target were changed in the meantime');
