import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eachPlace } from '../support/engines.ts';
import { startBroker } from '../support/seeded-broker.ts';

const WRITERS = 64;

eachPlace('changes with the same version', (newPlace) => {
  test('of 64 changes of every kind, sent at once, exactly one is made', async (t) => {
    const { admin, make, project } = await startBroker(t, { place: await newPlace() });
    const user = await make('users', { scope_id: 'global' });
    const catalog = await make('host-catalogs', { scope_id: project, type: 'static' });
    const attributes = { address: '10.0.0.1' };
    const host = await make('hosts', { host_catalog_id: catalog, attributes });
    const target = { scope_id: project, type: 'tcp', attributes: { default_port: 22 } };
    const set = await make('host-sets', { host_catalog_id: catalog });

    const changes: [what: string, path: string, id: string, body: (at: number) => object][] = [
      [
        'PATCH',
        'targets',
        await make('targets', { ...target, name: 'patched' }),
        (at) => ({ description: `writer ${at}` }),
      ],
      [
        'add-host-sources',
        'targets',
        await make('targets', { ...target, name: 'linked' }),
        () => ({ host_source_ids: [set] }),
      ],
      ['set-hosts', 'host-sets', set, (at) => ({ host_ids: at % 2 ? [host] : [] })],
      [
        'set-grants',
        'roles',
        await make('roles', { scope_id: 'global' }),
        (at) => ({ grant_strings: [`ids=ttcp_${at};actions=read`] }),
      ],
      [
        'add-principals',
        'roles',
        await make('roles', { scope_id: 'global' }),
        () => ({ principal_ids: [user] }),
      ],
      [
        'PATCH',
        'scopes',
        await make('scopes', { scope_id: 'global' }),
        (at) => ({ name: `name ${at}` }),
      ],
    ];
    for (const [what, plural, id, body] of changes) {
      const path = `${plural}/${id}`;
      const answers = await Promise.all(
        Array.from({ length: WRITERS }, (_, at) =>
          what === 'PATCH'
            ? admin('PATCH', path, { version: 1, ...body(at) })
            : admin('POST', `${path}:${what}`, { version: 1, ...body(at) }),
        ),
      );
      const won = answers.filter(({ status }) => status === 200);
      assert.equal(won.length, 1, `${what} ${plural}`);
      for (const answer of answers) {
        if (answer !== won[0]) assert.equal(answer.status, 404, `${what}: ${answer.text}`);
      }
      const found = await admin('GET', path);
      assert.equal(found.field('version'), 2);
      assert.equal(found.text, won[0]?.text, 'what is kept is what the winner was told');
    }
  });

  test('of 64 things with one name, made at once, exactly one is', async (t) => {
    const { admin, project } = await startBroker(t, { place: await newPlace() });
    const body = { scope_id: project, type: 'tcp', name: 'one', attributes: { default_port: 22 } };
    const answers = await Promise.all(
      Array.from({ length: WRITERS }, () => admin('POST', 'targets', body)),
    );
    const won = answers.filter(({ status }) => status === 200);
    assert.equal(won.length, 1);
    for (const answer of answers) {
      if (answer !== won[0]) assert.match(answer.textAt('message'), /attempted to make second/);
    }
  });
});
