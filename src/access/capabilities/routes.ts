import { z } from 'zod';
import { flat } from '../../app/output.ts';
import { type AnyRoute, vaultRoute } from '../../app/route.ts';
import { comparedBy, eachText } from '../../core/comparison.ts';
import { shortList, text } from '../../core/fields.ts';
import { describeOfAccessor, describeOfToken, describeOwn } from './operations.ts';

/** A slash before a path says nothing. */
const pathList = comparedBy(shortList, {
  form: eachText((path) => path.replace(/^\//, '')),
});

const pathFields = {
  paths: pathList([]).describe('Paths as policies write them, e.g. `pki/issue/web`.'),
  path: pathList([]).describe('Old name of paths.'),
};

const capabilities = flat(
  z
    .object({
      capabilities: z.array(z.string()).optional().describe('Where one path is asked about.'),
    })
    .catchall(z.array(z.string()))
    .describe('By path.'),
);

function pathsOf(input: { paths: string[]; path: string[] }): string[] {
  return input.paths.length > 0 ? input.paths : input.path;
}

export const capabilityRoutes: AnyRoute[] = [
  vaultRoute({
    id: 'query-token-self-capabilities',
    on_any_thread: true,
    method: 'POST',
    path: '/v1/sys/capabilities-self',
    summary: 'What the own token may do at paths',
    access: { capability: 'update' },
    old_names: { path: 'paths' },
    audit: ['paths', 'path'],
    input: z.object(pathFields),
    output: capabilities,
    failures: ['invalid', 'rate_limited'],
    run: (app, caller, input) => describeOwn(app, caller, { paths: pathsOf(input) }),
  }),
  vaultRoute({
    id: 'query-token-capabilities',
    on_any_thread: true,
    method: 'POST',
    path: '/v1/sys/capabilities',
    summary: 'What a token may do at paths',
    access: { capability: 'update' },
    old_names: { path: 'paths' },
    audit: ['paths', 'path'],
    input: z.object({ ...pathFields, token: text('').describe('The token; the own one if none.') }),
    output: capabilities,
    failures: ['invalid', 'rate_limited'],
    run: (app, caller, input) =>
      describeOfToken(app, caller, { token: input.token, paths: pathsOf(input) }),
  }),
  vaultRoute({
    id: 'query-token-accessor-capabilities',
    on_any_thread: true,
    method: 'POST',
    path: '/v1/sys/capabilities-accessor',
    summary: 'What the token of an accessor may do at paths',
    access: { capability: 'update' },
    old_names: { path: 'paths' },
    audit: ['paths', 'path', 'accessor'],
    input: z.object({ ...pathFields, accessor: text('').describe('Accessor of the token.') }),
    output: capabilities,
    failures: ['invalid', 'rate_limited'],
    run: (app, caller, input) =>
      describeOfAccessor(app, caller, { accessor: input.accessor, paths: pathsOf(input) }),
  }),
];
