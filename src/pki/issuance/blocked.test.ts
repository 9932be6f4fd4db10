import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import { openTestApp, testCaller, testMount } from '../../../test/support/app.ts';
import { eachEngine } from '../../../test/support/engines.ts';
import { makeCsr } from '../../../test/support/leaves.ts';
import type { App } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import { parsePem } from '../../core/pem.ts';
import { insertMount } from '../../mounts/store.ts';
import { bumpConfigVersion } from '../../store/config-version.ts';
import type { Store } from '../../store/store.ts';
import { parseCertificate } from '../../x509/certificate.ts';
import { parseCsr } from '../../x509/csr.ts';
import { signIntermediate } from '../intermediates/operations.ts';
import { signSelfIssued } from '../intermediates/self-issued.operations.ts';
import { planBlock } from '../keys/blocked.operations.ts';
import { intermediateFields } from '../profile/intermediate.ts';
import { signSchema, verbatimSchema } from '../profile/request.ts';
import { rootFields } from '../profile/root.ts';
import { writeRole } from '../roles/operations.ts';
import { roleFields } from '../roles/role.ts';
import { generateRoot } from '../roots/operations.ts';
import { signCsr } from './operations.ts';
import { signVerbatim } from './verbatim.operations.ts';

const rootSchema = z.object({ exported: z.string(), ...rootFields });

interface Made {
  app: App;
  caller: Caller;
  /** DER of the public key of the issuer. */
  ownKey: Uint8Array;
  key_id: string;
  /** PEM. */
  certificate: string;
}

async function make(store: Store): Promise<Made> {
  const { app } = await openTestApp(store);
  const mount = testMount({ kind: 'secret', path: 'pki/', type: 'pki' });
  const caller = testCaller(mount);
  await store.commit([insertMount(mount), bumpConfigVersion()]);
  const root = { exported: 'internal', common_name: 'R', key_type: 'ec', ttl: '700h' };
  const { data } = await generateRoot(app, caller, rootSchema.parse(root));
  const { key_id, certificate } = data;
  const role = { name: 'web', key_type: 'ec', allow_any_name: true, ttl: '1h' };
  await writeRole(app, caller, z.object({ name: z.string(), ...roleFields }).parse(role));
  const { subjectPublicKeyInfo: ownKey } = parseCertificate(derOf(certificate));
  return { app, caller, ownKey, key_id, certificate };
}

const derOf = (pem: string): Uint8Array => parsePem(pem)[0]?.der ?? Buffer.of();

const csr = makeCsr({ subject: { common_name: 'a.test' } });
const keyOfCsr = (): Uint8Array => parseCsr(derOf(csr)).subjectPublicKeyInfo;
const asked = { csr, common_name: 'a.test' };

type Way = [what: string, certify: (made: Made) => Promise<unknown>];

const OF_CSR: Way[] = [
  [
    'signed within a role',
    ({ app, caller }) => signCsr(app, caller, { ...signSchema.parse(asked), role: 'web' }),
  ],
  [
    'signed as it is',
    ({ app, caller }) => signVerbatim(app, caller, verbatimSchema.parse({ csr, ttl: '1h' })),
  ],
  [
    'signed as an intermediate',
    ({ app, caller }) =>
      signIntermediate(app, caller, z.object(intermediateFields).parse({ ...asked, ttl: '1h' })),
  ],
];
const OF_OWN_KEY: Way[] = [
  [
    'signed as self-issued',
    ({ app, caller, certificate }) =>
      signSelfIssued(app, caller, { certificate, require_matching_certificate_algorithms: false }),
  ],
  [
    'put into a new root',
    ({ app, caller, key_id }) => {
      const root = { exported: 'existing', common_name: 'R2', key_ref: key_id, ttl: '1h' };
      return generateRoot(app, caller, rootSchema.parse(root));
    },
  ],
];

/** A mount whose first certificate is overtaken: just before it is written, a key is blocked. */
function overtaken(made: Made, subjectPublicKeyInfo: Uint8Array): Made {
  let commits = 0;
  const { app, caller } = made;
  const block = async (): Promise<void> => {
    if (commits++ > 0) return;
    const blocked = { ...parseCertificate(derOf(made.certificate)), subjectPublicKeyInfo };
    await app.store.commit(planBlock(caller.mount.id, blocked, app.now()));
  };
  const late: App = {
    ...app,
    commit: async (...commit) => {
      await block();
      return app.commit(...commit);
    },
    commitOnce: async (...commit) => {
      await block();
      return app.commitOnce(...commit);
    },
  };
  return { ...made, app: late };
}

eachEngine('a key that is blocked meanwhile', (open) => {
  for (const [ways, isOwn] of [
    [OF_CSR, false],
    [OF_OWN_KEY, true],
  ] as const) {
    for (const [what, certify] of ways) {
      test(`is not ${what}; while another one is blocked it is`, async () => {
        const made = await make(await open());
        const [key, other] = isOwn ? [made.ownKey, keyOfCsr()] : [keyOfCsr(), made.ownKey];
        await certify(overtaken(made, other));
        await assert.rejects(certify(overtaken(made, key)), {
          kind: 'invalid',
          message: /refusing to certify a blocked key/,
        });
      });
    }
  }
});
