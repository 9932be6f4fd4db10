import { z } from 'zod';
import type { App } from '../../../app/app.ts';
import { Breath } from '../../../core/fairness/breath.ts';
import { omitEmpty } from '../../../core/omit-empty.ts';
import { endBeforehand } from '../../iam/removal.operations.ts';
import { judgeAddress } from '../../resource/address.ts';
import type { FieldErrors } from '../../resource/field-errors.ts';
import type { ResourceHandler, ResourceInput } from '../../resource/handler.ts';
import { listLinksToAll } from '../../resource/links/store.ts';
import { planDependentCancellation } from '../../sessions/termination.operations.ts';

/** What a static host keeps. */
export interface HostBody {
  address: string;
}

const PORT = 'Address for static hosts does not support a port.';
const FIELD = 'attributes.address';

export const hostDefinition: ResourceHandler = {
  type: 'host',
  containerField: 'host_catalog_id',
  fields: {},
  attributes: {
    static: z.object({
      address: z.string().optional().describe('IP address or DNS name, without a port.'),
    }),
  },
  showsType: true,
  words: { stale: 'Host "%" doesn\'t exist or incorrect version provided.' },

  chooseSubtype(item, parent, errors) {
    if (parent === 'plugin') {
      errors.add('host_catalog_id', 'Cannot manually create hosts for this type of catalog.');
      return '';
    }
    if (parent !== undefined && item.type && item.type !== parent) {
      errors.add('type', "Doesn't match the parent resource's type.");
    }
    return parent ?? '';
  },
  checkNew(item, _subtype, errors) {
    if (item.attributes === undefined) errors.add('attributes', 'This is a required field.');
    else checkAddress(item, errors);
  },
  async planNew(_app, _caller, { item }) {
    return { body: bodyOf(item) };
  },
  updatable: () => ['attributes.address'],
  checkChange(item, { mask }, errors) {
    if (mask.includes(FIELD)) checkAddress(item, errors);
  },
  async planChange(_app, _caller, { item, mask }) {
    return mask.includes(FIELD) ? { body: bodyOf(item) } : {};
  },
  endBeforehand,
  planRemoval: async (app, _caller, { id }) => planDependentCancellation(app, { host_ids: [id] }),
  async describe(app, _caller, hosts) {
    const sets = await listSetsOf(
      app,
      hosts.map((host) => host.id),
    );
    return hosts.map(({ id, body }) =>
      omitEmpty({
        host_set_ids: sets.get(id),
        attributes: { address: (body as HostBody).address },
      }),
    );
  },
};

/** Hosts whose sets are read before others get their turn. */
const HOSTS_AT_ONCE = 32;

/** Ids of the sets that hosts are in, by host. */
async function listSetsOf(app: App, ids: readonly string[]): Promise<Map<string, string[]>> {
  const sets = new Map<string, string[]>();
  const breath = new Breath();
  for (let at = 0; at < ids.length; at += HOSTS_AT_ONCE) {
    const some = ids.slice(at, at + HOSTS_AT_ONCE);
    for (const { from_id, to_id } of await listLinksToAll(app.db, some, 'host-set-host')) {
      const known = sets.get(to_id);
      if (known) known.push(from_id);
      else sets.set(to_id, [from_id]);
    }
    await breath.take();
  }
  return sets;
}

function checkAddress({ attributes = {} }: ResourceInput, errors: FieldErrors): void {
  const verdict = judgeAddress(String(attributes.address ?? ''), PORT);
  if (!verdict.valid) errors.add(FIELD, verdict.because);
}

function bodyOf({ attributes = {} }: ResourceInput): HostBody {
  const verdict = judgeAddress(String(attributes.address ?? ''), PORT);
  if (!verdict.valid) throw new TypeError('the address was checked before');
  return { address: verdict.address };
}
