/** Of every answer, whoever makes it: it is what it says, is kept by nobody, and is for TLS. */
export const COMMON_HEADERS = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'strict-transport-security': 'max-age=31536000; includeSubDomains',
};
