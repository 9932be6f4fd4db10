/** Takes types out of what is loaded, for a package without built JavaScript: Node itself does not, under node_modules. */

import { readFileSync } from 'node:fs';
import { registerHooks, stripTypeScriptTypes } from 'node:module';

registerHooks({
  load(url, context, next) {
    if (!url.startsWith('file:') || !url.endsWith('.ts')) return next(url, context);
    const source = stripTypeScriptTypes(readFileSync(new URL(url), 'utf8'));
    return { format: 'module', source, shortCircuit: true };
  },
});
