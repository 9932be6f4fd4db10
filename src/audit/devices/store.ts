import { build, type Db } from '../../store/database.ts';
import { type Write, write } from '../../store/write.ts';
import type { KeptDevice } from './device.ts';

// Few, and read whole: what is not asked for by name lies in one JSON column.

export async function listDevices(db: Db): Promise<KeptDevice[]> {
  const rows = await db.selectFrom('audit_device').selectAll().orderBy('path').execute();
  return rows.map(({ path, type, body }) => {
    const rest: Omit<KeptDevice, 'path' | 'type' | 'id'> & { id?: string } = JSON.parse(body);
    return { path, type, ...rest, id: rest.id ?? '' };
  });
}

export function insertDevice(device: KeptDevice): Write {
  const { path, type, ...body } = device;
  return write(
    build.insertInto('audit_device').values({ path, type, body: JSON.stringify(body) }),
    { rows: 1, conflict: 'path already in use' },
  );
}

export function deleteDevice(path: string): Write {
  return write(build.deleteFrom('audit_device').where('path', '=', path));
}
