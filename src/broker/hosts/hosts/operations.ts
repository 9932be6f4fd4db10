import { z } from 'zod';
import type { App } from '../../../app/app.ts';
import { Breath } from '../../../core/fairness/breath.ts';
import { omitEmpty } from '../../../core/omit-empty.ts';
import { endBeforehand } from '../../iam/removal.operations.ts';
import { judgeAddress } from '../../resource/address.ts';
import type { FieldErrors } from '../../resource/field-errors.ts';
import type { Kind, ResourceHandler } from '../../resource/handler.ts';
import { subtypeOfParent } from '../../resource/item-request.ts';
import { listLinksToAll } from '../../resource/links/store.ts';
import { planDependentCancellation } from '../../sessions/termination.operations.ts';

/** What a static host keeps. */
export interface HostBody {
  address: string;
}

const PORT = 'Address for static hosts does not support a port.';
const FIELD = 'attributes.address';

const address = z.string().optional().describe('IP address or DNS name, without a port.');
const attributes = { static: z.object({ address }) };

const shown = {
  host_set_ids: z.array(z.string()).describe('The sets that it is in.'),
  attributes: attributes.static,
};

interface HostKind extends Kind {
  attributes: typeof attributes;
  shown: typeof shown;
  body: HostBody;
  wanted: HostBody;
  /** Absent where the address stays. */
  change: HostBody | undefined;
}

export const hostDefinition: ResourceHandler<HostKind> = {
  type: 'host',
  containerField: 'host_catalog_id',
  fields: {},
  attributes,
  shown,
  showsType: true,
  words: { stale: 'Host "%" doesn\'t exist or incorrect version provided.' },

  chooseSubtype(item, parent, errors) {
    if (parent !== 'plugin') return subtypeOfParent(item, parent, errors);
    errors.add('host_catalog_id', 'Cannot manually create hosts for this type of catalog.');
    return '';
  },
  checkNew(item, _subtype, errors) {
    if (item.attributes !== undefined) return readBody(item.attributes, errors);
    errors.add('attributes', 'This is a required field.');
    return { address: '' };
  },
  planNew: async (_app, _caller, { wanted }) => ({ body: wanted }),
  updatable: () => [FIELD],
  checkChange: ({ attributes = {} }, { mask }, errors) =>
    mask.includes(FIELD) ? readBody(attributes, errors) : undefined,
  planChange: async (_app, _caller, { change }) => (change ? { body: change } : {}),
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
        attributes: { address: body.address },
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

function readBody(
  { address = '' }: { readonly address?: string | undefined },
  errors: FieldErrors,
): HostBody {
  const verdict = judgeAddress(address, PORT);
  if (verdict.valid) return { address: verdict.address };
  errors.add(FIELD, verdict.because);
  return { address: '' };
}
