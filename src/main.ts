import { type CommandGroup, run } from './cli/command.ts';
import { operatorCommands } from './cli/operator/operator.ts';
import { printable } from './cli/output.ts';
import { Failure } from './core/failure.ts';
import { VERSION } from './core/version.ts';

const gatehouse: CommandGroup = {
  words: '',
  summary: 'A certificate authority and an access broker in one server',
  commands: {
    dev: {
      summary: 'run a development server',
      load: async () => (await import('./cli/server.ts')).devCommand,
    },
    server: {
      summary: 'run a production server',
      load: async () => (await import('./cli/server.ts')).serverCommand,
    },
    worker: {
      summary: 'run a worker that carries sessions, without a server',
      load: async () => (await import('./cli/worker.ts')).workerCommand,
    },
    operator: operatorCommands,
    pki: {
      summary: 'look after a certificate authority',
      load: async () => (await import('./cli/pki/pki.ts')).pkiCommands,
    },
    authenticate: {
      summary: 'log in to the access broker',
      load: async () => (await import('./cli/authenticate.ts')).authenticateCommands,
    },
    connect: {
      summary: 'reach a target through a session',
      load: async () => (await import('./cli/connect/connect.ts')).connectCommands,
    },
    'session-recordings': {
      summary: 'look at recordings of sessions',
      load: async () => (await import('./cli/recordings/recordings.ts')).recordingCommands,
    },
    audit: {
      summary: 'check audit records',
      load: async () => (await import('./cli/audit/audit.ts')).auditCommands,
    },
    docs: {
      summary: 'write the API reference',
      load: async () => (await import('./cli/docs.ts')).docsCommand,
    },
    version: {
      usage: 'version',
      summary: 'print the version',
      flags: {},
      async run() {
        console.log(`gatehouse ${VERSION}`);
        return 0;
      },
    },
  },
};

function main([first = '', ...rest]: readonly string[]): Promise<number> {
  // As a flag it is a habit.
  const words = /^--?(v|version)$/.test(first) ? ['version'] : [first, ...rest];
  return run(gatehouse, first === '' ? [] : words);
}

main(process.argv.slice(2)).then(
  (code) => process.exit(code),
  (error: unknown) => {
    // One line for the operator; a stack only where the program itself is wrong.
    console.error(error instanceof Failure ? `gatehouse: ${printable(error.message)}` : error);
    process.exit(1);
  },
);
