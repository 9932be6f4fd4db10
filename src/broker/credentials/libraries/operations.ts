import type { App } from '../../../app/app.ts';
import { Failure } from '../../../core/failure.ts';
import { omitEmpty } from '../../../core/omit-empty.ts';
import { readMounts } from '../../../mounts/operations.ts';
import { endBeforehand } from '../../iam/removal.operations.ts';
import type { BrokerCaller } from '../../resource/caller.ts';
import { FieldErrors, IN_REQUEST, refuseField } from '../../resource/field-errors.ts';
import type { Container, ResourceHandler } from '../../resource/handler.ts';
import { isIdOf } from '../../resource/ids.ts';
import type { ListRequest } from '../../resource/lists/query.ts';
import { planSourceRemoval } from '../../sessions/credentials/termination.operations.ts';
import { fillIssueFields, UNKNOWN_FACTS, UnfitValue } from './issue-request.ts';
import {
  LIBRARY_TYPES,
  type LibraryBody,
  type LibraryKind,
  libraryAttributes,
  libraryFields,
  libraryShown,
} from './library.ts';
import { mayIssue } from './permission.operations.ts';
import { libraryPaths, planLibrary } from './plan.ts';
import { checkChanged, checkLibraryChange, checkNewLibrary } from './rules.ts';

const NO_STORE = 'This field must be a valid credential store id.';

export const credentialLibraryDefinition: ResourceHandler<LibraryKind> = {
  type: 'credential-library',
  containerField: 'credential_store_id',
  fields: libraryFields,
  attributes: libraryAttributes,
  shown: libraryShown,
  // Somebody's request to another server may hold what is secret there.
  secrets: ['http_request_body'],
  wholeFields: ['attributes.critical_options', 'attributes.extensions'],
  showsType: true,
  words: { stale: 'Credential library "%" doesn\'t exist or incorrect version provided.' },

  chooseSubtype(item, parent, errors) {
    const types = LIBRARY_TYPES[parent ?? ''];
    if (!types) {
      errors.add('credential_store_id', NO_STORE);
      return '';
    }
    // The first kind of library was named as its store is.
    const wanted = item.type === 'vault' ? 'vault-generic' : item.type || types[0];
    const type = types.find((known) => known === wanted);
    if (type === undefined) {
      errors.add('type', `This must be one of ${types.map((known) => `"${known}"`).join(', ')}.`);
    }
    return type ?? '';
  },
  checkNew: checkNewLibrary,
  async planNew(app, caller, { item, subtype, container }) {
    const body = planLibrary(subtype, undefined, item, []);
    if (subtype !== 'authority-certificate') return { body };
    return { body: { ...body, ...(await requireIssuing(app, caller, container, body)) } };
  },

  updatable: libraryPaths,
  checkChange: checkLibraryChange,
  async planChange(app, caller, { resource, item, mask, container }) {
    const before = resource.body;
    const after = planLibrary(resource.subtype, before, item, mask);
    const errors = new FieldErrors();
    checkChanged(item, { subtype: resource.subtype, before, after }, errors);
    errors.refuse(IN_REQUEST);
    const speaks = mask.some((path) => path.startsWith('attributes.'));
    if (resource.subtype !== 'authority-certificate' || !speaks) return { body: after };
    return { body: { ...after, ...(await requireIssuing(app, caller, container, after)) } };
  },
  endBeforehand,
  planRemoval: async (app, _caller, { id }) => planSourceRemoval(app, { removed_id: id }),

  async describe(_app, _caller, libraries) {
    return libraries.map(({ body }) => {
      const { credential_type, overrides, attributes } = body;
      return omitEmpty({
        credential_type,
        credential_mapping_overrides: overrides,
        attributes: omitEmpty({ ...attributes }),
      });
    });
  },
};

/**
 * Whoever lets sessions have certificates of a role could have asked for one themselves: their
 * policies allow `update` on `<mount>/issue/<role>` with what the library fills in, as far as that
 * is known. It is asked again when it is filled in. Without a policy nothing is allowed.
 *
 * @returns the mount, and whose policies are to be asked
 * @throws Failure `invalid` without such a mount, `forbidden` without the permission
 */
async function requireIssuing(
  app: App,
  { token, who }: BrokerCaller,
  { parent }: Container<LibraryKind>,
  { attributes }: LibraryBody,
): Promise<Pick<LibraryBody, 'mount_id' | 'saved_by'>> {
  const mount = (await readMounts(app)).get(`${parent.body.mount ?? ''}/`);
  if (mount?.type !== 'pki') {
    refuseField('credential_store_id', "The store's certificate authority is gone.", IN_REQUEST);
  }
  if (!token) throw new Failure('forbidden', 'Forbidden.');
  const { policies, entity_id, restricted, alias, bounds } = token;
  const { user_id, account_id } = who;
  const saved_by = { policies, entity_id, restricted, alias, bounds, user_id, account_id };
  const asked = { mount, role: attributes.role ?? '', fields: knownFields(attributes) };
  if (!(await mayIssue(app, saved_by, asked))) throw new Failure('forbidden', 'Forbidden.');
  return { mount_id: mount.id, saved_by };
}

function knownFields(attributes: LibraryBody['attributes']): Record<string, string> {
  try {
    return fillIssueFields(attributes, UNKNOWN_FACTS);
  } catch (error) {
    if (!(error instanceof UnfitValue)) throw error;
    return refuseField('attributes', `Invalid template: ${error.message}.`, IN_REQUEST);
  }
}

/** @throws Failure `invalid` for a query that names no store of libraries */
export function checkLibraryList({ place }: ListRequest): void {
  if (isIdOf(place, 'credential-store', 'vault', 'authority')) return;
  refuseField('credential_store_id', NO_STORE, 'Improperly formatted identifier.');
}
