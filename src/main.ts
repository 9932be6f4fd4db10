import { runDocs } from './cli/docs.ts';
import { runDev, runServer } from './cli/server.ts';
import { Failure } from './core/failure.ts';

const VERSION = '0.1.0';

const HELP = `Usage: gatehouse COMMAND [flags]

  dev        run a development server
  server     run a production server
  docs       write the API reference
  version    print the version

Each command explains itself with -help.`;

async function main(args: readonly string[]): Promise<number> {
  const [command, ...rest] = args;
  switch (command) {
    case 'dev':
      return runDev(rest);
    case 'server':
      return runServer(rest);
    case 'docs':
      return runDocs(rest);
    case 'version':
    case '-version':
    case '--version':
      console.log(`gatehouse ${VERSION}`);
      return 0;
    case undefined:
    case 'help':
    case '-help':
    case '--help':
      console.log(HELP);
      return command === undefined ? 2 : 0;
    default:
      throw new Failure('invalid', `unknown command "${command}"; see gatehouse help`);
  }
}

main(process.argv.slice(2)).then(
  (code) => process.exit(code),
  (error: unknown) => {
    // One line for the operator; a stack only where the program itself is wrong.
    console.error(error instanceof Failure ? `gatehouse: ${error.message}` : error);
    process.exit(1);
  },
);
