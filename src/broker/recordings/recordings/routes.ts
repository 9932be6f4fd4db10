import { z } from 'zod';
import type { App } from '../../../app/app.ts';
import { Failure } from '../../../core/failure.ts';
import type { RecordingFileRow } from '../../../store/tables.ts';
import { describeResource } from '../../resource/answers.operations.ts';
import { IN_REQUEST, refuseField } from '../../resource/field-errors.ts';
import { isIdOf } from '../../resource/ids.ts';
import { itemAccess } from '../../resource/location.operations.ts';
import {
  type AnyBoundaryRoute,
  type BoundaryReference,
  boundaryRoute,
  type LocatedAccess,
  type LocatedItem,
} from '../../resource/route.ts';
import { shownRoutes, shownSchema } from '../../resource/routes.ts';
import { findFile, findFileOfConnection } from './files.store.ts';
import { reapplyPolicy, recordingDefinition } from './operations.ts';
import { downloadChannel, requireOnlyChannel, verifyRecording } from './reading.operations.ts';
import { ASCIICAST, isConnection } from './recording.ts';
import { findRecordingOfSession } from './store.ts';

const MALFORMED = 'Invalid formatted identifier.';

/** Puts the recording's id in the place of its session's. */
async function resolveSession(app: App, request: BoundaryReference): Promise<BoundaryReference> {
  if (!isIdOf(request.id, 'session')) return request;
  const recording = await findRecordingOfSession(app.db, request.id);
  if (!recording) throw new Failure('not_found', 'Resource not found.');
  return { ...request, id: recording.id };
}

interface LocatedPart extends LocatedItem {
  /** A channel or a connection; undefined: all of the recording. */
  part: RecordingFileRow | undefined;
}

/** What is downloaded: a channel, or the only one of a connection, of a recording, or of a session. */
const downloadAccess: LocatedAccess<LocatedPart> = {
  action: 'download',
  type: 'session-recording',
  async locate(app, caller, request) {
    const part = await findPart(app, request.id);
    const id = part?.recording_id ?? (await resolveSession(app, request)).id;
    const access = itemAccess(recordingDefinition, 'download');
    const located = await access.locate(app, caller, { ...request, id });
    return { ...located, part };
  },
};

/** A channel or a connection, by the id of its recording or its own. */
async function findPart(app: App, id: string): Promise<RecordingFileRow | undefined> {
  const kind = /^(chr|cr|sc)_[A-Za-z0-9]+$/.exec(id)?.[1];
  if (!kind) return undefined;
  const file = kind === 'sc' ? await findFileOfConnection(app.db, id) : await findFile(app.db, id);
  if (!file) throw new Failure('not_found', 'Resource not found.');
  return file;
}

const downloadRoute = boundaryRoute({
  id: 'download-session-recording',
  method: 'GET',
  path: '/v1/session-recordings/{id}:download',
  summary: 'Download a channel of a session recording',
  access: downloadAccess,
  input: z.object({}),
  query: z.object({ mime_type: z.string().optional().describe(`\`${ASCIICAST}\`.`) }),
  output: z.null(),
  bytes: ASCIICAST,
  failures: ['invalid', 'precondition', 'unauthenticated', 'forbidden', 'not_found', 'unavailable'],
  audit: ['mime_type'],
  check({ query }) {
    const mime_type = query.get('mime_type') ?? ASCIICAST;
    if (mime_type === ASCIICAST) return;
    refuseField('mime_type', `This must be ${ASCIICAST}.`, IN_REQUEST);
  },
  async run(app, caller, _request, { resource, part }) {
    // Which channels there are is told to nobody who may not download them.
    const isChannel = part && !isConnection(part);
    const file = isChannel ? part : await requireOnlyChannel(app, resource.id, part);
    Object.assign(caller.record.outcome, { recording_id: file.recording_id, channel: file.id });
    return { bytes: { content_type: ASCIICAST, body: await downloadChannel(app, file) } };
  },
});

const verifyRoute = boundaryRoute({
  id: 'verify-session-recording',
  method: 'POST',
  path: '/v1/session-recordings/{id}:verify',
  summary: 'Read all files of a session recording and tell whether each is as it was written',
  access: itemAccess(recordingDefinition, 'download'),
  resolve: resolveSession,
  input: z.object({}),
  output: z.object({
    intact: z.boolean(),
    files: z.array(
      z.object({
        id: z.string().describe('Of a channel recording, or of a connection recording.'),
        pieces: z.int(),
        intact: z.boolean(),
        error_details: z.string().optional(),
      }),
    ),
  }),
  failures: ['invalid', 'unauthenticated', 'forbidden', 'not_found', 'unavailable'],
  async run(app, _caller, _request, { resource }) {
    const files = await verifyRecording(app, resource.id);
    return {
      body: {
        intact: files.every(({ intact }) => intact),
        files: files.map(({ error_details, ...file }) =>
          error_details === '' ? file : { ...file, error_details },
        ),
      },
    };
  },
});

const reapplyRoute = boundaryRoute({
  id: 'reapply-storage-policy-session-recording',
  method: 'POST',
  path: '/v1/session-recordings/{id}:reapply-storage-policy',
  summary: 'Have a session recording follow the storage policies of today',
  access: itemAccess(recordingDefinition, 'reapply-storage-policy'),
  input: z.object({}),
  output: shownSchema(recordingDefinition),
  failures: ['invalid', 'unauthenticated', 'forbidden', 'not_found'],
  check({ id }) {
    if (!isIdOf(id, 'session-recording')) refuseField('id', MALFORMED, IN_REQUEST);
  },
  async run(app, caller, _request, { resource }) {
    const changed = await reapplyPolicy(app, caller, resource);
    return { item: await describeResource(app, caller, recordingDefinition, changed) };
  },
});

export const recordingRoutes: readonly AnyBoundaryRoute[] = [
  ...shownRoutes(recordingDefinition, {
    only: ['list', 'read', 'delete'],
    resolve: resolveSession,
  }),
  downloadRoute,
  verifyRoute,
  reapplyRoute,
];
