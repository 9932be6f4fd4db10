/** Loaded first into every test process: hundreds of them read the same modules, compiled only once. */

import { enableCompileCache } from 'node:module';

enableCompileCache('node_modules/.cache/modules');
