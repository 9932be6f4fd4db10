import type { z } from 'zod';
import { refuseDenied } from '../../access/standing/operations.ts';
import type { OwnPath } from '../../acl/name-form.ts';
import type { App } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import type { DataResult } from '../../app/output.ts';
import { invalid } from '../../core/failure.ts';
import { chooseSignatureAlgorithm } from '../../x509/algorithms.ts';
import { assembleSigned } from '../../x509/certificate.ts';
import { encodeCsrInfo } from '../../x509/csr.ts';
import { kindOf } from '../../x509/keys.ts';
import { bundleWithKey, encodeCsr, encodeKey } from '../certificates/answer.ts';
import { checkSignatureSizeOf } from '../fields/key-parameters.ts';
import { parseKeySource, prepareKey } from '../keys/key-source.operations.ts';
import { changeMountState } from '../mount-state/operations.ts';
import { hasUrls } from '../mount-state/urls.ts';
import { planCsrOnThread } from '../planning/operations.ts';
import { isHeavyRequest } from '../planning/task.ts';
import { MOST_CA_BYTES } from '../profile/ca-request.ts';
import {
  type IntermediateCsrRequest,
  intermediateCsrFields,
  planIntermediateCsr,
} from '../profile/intermediate.ts';
import { NO_URLS_WARNING } from '../profile/root.ts';
import type { generatedCsr } from './answers.ts';

/**
 * Makes the request for the certificate of an intermediate: a key, unless an existing one is to be used, which signs it.
 *
 * @see RFC 2986
 */
export async function generateIntermediateCsr(
  app: App,
  caller: Caller,
  input: IntermediateCsrRequest & { exported: string },
): Promise<DataResult<z.output<typeof generatedCsr>>> {
  const source = parseKeySource(input.exported);
  const { exported: _, ...request } = input;
  checkSignatureSizeOf(request);
  if (source === 'existing') await refuseDenied(caller, placesOfExisting(caller));
  const prepared = await prepareKey(app, caller, source, request);
  const plan = isHeavyRequest(request)
    ? await planCsrOnThread(app, caller, request)
    : planIntermediateCsr(request);

  return changeMountState(app, caller, async (mountState) => {
    const { key, effects, sign } = await prepared.choose(mountState);
    const { signature_bits, use_pss } = request;
    const algorithm = chooseSignatureAlgorithm({ ...kindOf(key), signature_bits, use_pss });
    const info = encodeCsrInfo({ ...plan, subjectPublicKeyInfo: key.public_key });
    if (info.length > MOST_CA_BYTES) {
      throw invalid(
        `the request would have ${info.length} bytes, at most ${MOST_CA_BYTES} are accepted`,
      );
    }
    const der = assembleSigned(info, algorithm, await sign(algorithm, info));
    caller.record.outcome.key_id = key.id;
    const { handed_out } = prepared;
    const csr = encodeCsr(der, request.format);
    const isBundle = handed_out && request.format === 'pem_bundle';
    const isFirst = mountState.defaults.default_key === '';
    return {
      effects,
      spares_issuing: true,
      ...(isFirst && { defaults: { default_key: key.id } }),
      result: {
        data: {
          csr: isBundle ? bundleWithKey(handed_out, csr) : csr,
          key_id: key.id,
          ...(handed_out && encodeKey(handed_out, request)),
        },
        warnings: [...(hasUrls(mountState.urls) ? [] : [NO_URLS_WARNING]), ...plan.warnings],
      },
    };
  });
}

const FIELDS = Object.keys(intermediateCsrFields);

/** Where a request by a key that is there is asked for: what policies deny at one of these paths is denied at each. */
function placesOfExisting({ mount }: Caller): OwnPath[] {
  return [
    'intermediate/generate/existing',
    'issuers/generate/intermediate/existing',
    'intermediate/cross-sign',
  ].map((place) => ({ path: `${mount.path}${place}`, part: FIELDS }));
}
