import { create, createFileRegistry, type FileRegistry, fromJson } from '@bufbuild/protobuf';
import {
  FileDescriptorProtoSchema,
  FileDescriptorSetSchema,
  file_google_protobuf_timestamp,
} from '@bufbuild/protobuf/wkt';
import { EXT_KEY_USAGES, KEY_USAGES } from '../fields/cel-usages.ts';

/** What programs write `CertTemplate` and the like within. */
export const NAMESPACE = 'openbao.pki';

/** The message that a program comes to where it allows the request. */
export const OUTPUT = `${NAMESPACE}.ValidationOutput`;

/** Name of a field, its number, and its type; `[]` behind it where there may be several. */
type FieldOf = readonly [name: string, number: number, type: string];

const SCALARS: Readonly<Record<string, string>> = {
  string: 'TYPE_STRING',
  bytes: 'TYPE_BYTES',
  bool: 'TYPE_BOOL',
  int64: 'TYPE_INT64',
  uint32: 'TYPE_UINT32',
  uint64: 'TYPE_UINT64',
};

const ENUMS = new Set(['KeyUsage', 'ExtKeyUsage']);

const OUTPUT_FIELDS: readonly FieldOf[] = [
  ['template', 1, 'CertTemplate'],
  ['issuer_ref', 2, 'string'],
  ['use_pss', 3, 'bool'],
  ['signature_bits', 4, 'uint32'],
  ['generate_lease', 5, 'bool'],
  ['no_store', 6, 'bool'],
  ['warnings', 7, 'string[]'],
  ['subject_key_id', 8, 'bytes'],
  ['key_type', 9, 'string'],
  ['key_bits', 10, 'uint64'],
];

const TEMPLATE_FIELDS: readonly FieldOf[] = [
  ['Version', 1, 'int64'],
  ['Subject', 2, 'PKIX.Name'],
  ['NotBefore', 3, 'google.protobuf.Timestamp'],
  ['NotAfter', 4, 'google.protobuf.Timestamp'],
  ['KeyUsage', 5, 'KeyUsage'],
  ['ExtraExtensions', 6, 'PKIX.Extension[]'],
  ['ExtKeyUsage', 7, 'ExtKeyUsage[]'],
  ['UnknownExtKeyUsage', 8, 'ObjectIdentifier[]'],
  ['BasicConstraintsValid', 9, 'bool'],
  ['IsCA', 10, 'bool'],
  ['MaxPathLen', 11, 'int64'],
  ['MaxPathLenZero', 12, 'bool'],
  ['SubjectKeyId', 13, 'bytes'],
  ['DNSNames', 14, 'string[]'],
  ['EmailAddresses', 15, 'string[]'],
  ['IPAddresses', 16, 'net.IP[]'],
  ['URIs', 17, 'url.URL[]'],
  ['PermittedDNSDomainsCritical', 18, 'bool'],
  ['PermittedDNSDomains', 19, 'string[]'],
  ['ExcludedDNSDomains', 20, 'string[]'],
  ['PermittedIPRanges', 21, 'net.IPNet[]'],
  ['ExcludedIPRanges', 22, 'net.IPNet[]'],
  ['PermittedEmailAddresses', 23, 'string[]'],
  ['ExcludedEmailAddresses', 24, 'string[]'],
  ['PermittedURIDomains', 25, 'string[]'],
  ['ExcludedURIDomains', 26, 'string[]'],
  ['PolicyIdentifiers', 27, 'ObjectIdentifier[]'],
  ['Policies', 28, 'OID[]'],
  ['InhibitAnyPolicy', 29, 'int64'],
  ['InhibitAnyPolicyZero', 30, 'bool'],
  ['InhibitPolicyMapping', 31, 'int64'],
  ['InhibitPolicyMappingZero', 32, 'bool'],
  ['RequireExplicitPolicy', 33, 'int64'],
  ['RequireExplicitPolicyZero', 34, 'bool'],
  ['PolicyMappings', 35, 'PolicyMapping[]'],
];

const NAME_FIELDS: readonly FieldOf[] = [
  ['Country', 1, 'string[]'],
  ['Organization', 2, 'string[]'],
  ['OrganizationUnit', 3, 'string[]'],
  ['Locality', 4, 'string[]'],
  ['Province', 5, 'string[]'],
  ['StreetAddress', 6, 'string[]'],
  ['PostalCode', 7, 'string[]'],
  ['SerialNumber', 8, 'string'],
  ['CommonName', 9, 'string'],
];

const URL_FIELDS: readonly FieldOf[] = [
  ['Scheme', 1, 'string'],
  ['Opaque', 2, 'string'],
  ['User', 3, 'Userinfo'],
  ['Host', 4, 'string'],
  ['Path', 5, 'string'],
  ['RawPath', 6, 'string'],
  ['OmitHost', 7, 'bool'],
  ['ForceQuery', 8, 'bool'],
  ['RawQuery', 9, 'string'],
  ['Fragment', 10, 'string'],
  ['RawFragment', 11, 'string'],
];

/** By their names within the namespace; those with a dot lie within another. */
const MESSAGES: Readonly<Record<string, readonly FieldOf[]>> = {
  ValidationOutput: OUTPUT_FIELDS,
  CertTemplate: TEMPLATE_FIELDS,
  'PKIX.Name': NAME_FIELDS,
  'PKIX.Extension': [
    ['Id', 1, 'int64[]'],
    ['Critical', 2, 'bool'],
    ['Value', 3, 'bytes'],
  ],
  ObjectIdentifier: [['arc', 1, 'uint32[]']],
  OID: [['arc', 1, 'uint64[]']],
  'net.IP': [['IP', 1, 'bytes']],
  'net.IPNet': [
    ['IP', 1, 'net.IP'],
    ['Mask', 2, 'net.IPMask'],
  ],
  'net.IPMask': [['IPMask', 1, 'bytes']],
  Userinfo: [
    ['username', 1, 'string'],
    ['password', 2, 'string'],
    ['password_set', 3, 'bool'],
  ],
  'url.URL': URL_FIELDS,
  PolicyMapping: [
    ['IssuerDomainPolicy', 1, 'OID'],
    ['SubjectDomainPolicy', 2, 'OID'],
  ],
};

/** What the names of messages begin with, which is a message as well. */
export const MESSAGE_NAMES: ReadonlySet<string> = new Set(
  Object.keys(MESSAGES).map((name) => name.split('.', 1)[0] ?? name),
);

/** Names that an expression may use for a type, or begin one with. */
export const TYPE_NAMES: ReadonlySet<string> = new Set([
  ...Object.keys(MESSAGES),
  ...MESSAGE_NAMES,
  ...ENUMS,
  'google',
  'openbao',
]);

/** The types that programs make certificates with. */
export function makeRegistry(): FileRegistry {
  const outer = Map.groupBy(Object.keys(MESSAGES), (name) => name.split('.', 1)[0] ?? name);
  const file = fromJson(FileDescriptorProtoSchema, {
    name: 'openbao/pki.proto',
    package: NAMESPACE,
    syntax: 'proto3',
    dependency: ['google/protobuf/timestamp.proto'],
    messageType: [...outer].map(([name, names]) => ({
      name,
      field: describeFields(MESSAGES[name] ?? []),
      nestedType: names
        .filter((inner) => inner !== name)
        .map((inner) => ({
          name: inner.slice(name.length + 1),
          field: describeFields(MESSAGES[inner] ?? []),
        })),
    })),
    enumType: [describeEnum('KeyUsage', KEY_USAGES), describeEnum('ExtKeyUsage', EXT_KEY_USAGES)],
  });
  return createFileRegistry(
    create(FileDescriptorSetSchema, { file: [file_google_protobuf_timestamp.proto, file] }),
  );
}

function describeFields(fields: readonly FieldOf[]) {
  return fields.map(([name, number, written]) => {
    const isList = written.endsWith('[]');
    const type = isList ? written.slice(0, -2) : written;
    const scalar = SCALARS[type];
    return {
      name,
      jsonName: name,
      number,
      label: isList ? 'LABEL_REPEATED' : 'LABEL_OPTIONAL',
      type: scalar ?? (ENUMS.has(type) ? 'TYPE_ENUM' : 'TYPE_MESSAGE'),
      ...(!scalar && {
        typeName: type.startsWith('google.') ? `.${type}` : `.${NAMESPACE}.${type}`,
      }),
    };
  });
}

function describeEnum(name: string, usages: readonly { constant: string; number: number }[]) {
  // The first value of an enumeration is 0.
  const values = usages.map(({ constant, number }) => ({ name: constant, number }));
  const none = values.some(({ number }) => number === 0)
    ? []
    : [{ name: `${name}Unspecified`, number: 0 }];
  return { name, value: [...none, ...values] };
}
