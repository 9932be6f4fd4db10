import { z } from 'zod';
import { type AnyRoute, vaultRoute } from '../../app/route.ts';
import { invalid } from '../../core/failure.ts';
import { text } from '../../core/fields.ts';

/** Where clients of some type of auth method log in: an auth method kept here without its engine. */
export function unavailableRoutes(type: string): AnyRoute[] {
  const logIn = (path: `/v1/auth/{mount}${string}`, id: string, input: z.ZodObject): AnyRoute =>
    vaultRoute({
      id: `${type}-${id}`,
      method: 'POST',
      path,
      summary: 'Refuse a log-in',
      access: 'public',
      input,
      output: z.object({}),
      failures: ['invalid'],
      run: async () => {
        throw invalid(
          `nobody can log in here yet: this server keeps auth methods of type "${type}" without their engine; userpass and approle have one`,
        );
      },
    });
  return [
    logIn('/v1/auth/{mount}/login', 'log-in', z.object({})),
    logIn('/v1/auth/{mount}/login/{username}', 'log-in-as', z.object({ username: text() })),
  ];
}
