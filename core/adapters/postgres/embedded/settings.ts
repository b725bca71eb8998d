interface ServerNeeds {
  readonly port: number;
  readonly durable: boolean;
  readonly owner: string;
}

/** A small server for one gateway: few processes, little memory, loopback only. */
const SMALL = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  password_encryption: 'scram-sha-256',
  max_connections: '60',
  shared_buffers: '24MB',
  work_mem: '4MB',
  maintenance_work_mem: '32MB',
  wal_buffers: '1MB',
  min_wal_size: '16MB',
  max_wal_size: '256MB',
  jit: 'off',
  io_method: 'sync', // the default starts three more processes
  wal_level: 'minimal', // no replication
  max_wal_senders: '0',
  max_replication_slots: '0',
  max_logical_replication_workers: '0',
  max_parallel_workers_per_gather: '0',
  max_parallel_maintenance_workers: '0',
  autovacuum_max_workers: '1',
  autovacuum_naptime: '60s',
  bgwriter_lru_maxpages: '0', // the checkpointer is enough for one gateway, and the idle process stays asleep
  timezone: 'UTC',
  log_timezone: 'UTC',
} as const;

/** Row values and statement texts must not be logged: they are users' data. */
const PRIVATE_LOGS = {
  log_destination: 'stderr',
  logging_collector: 'off',
  log_line_prefix: '',
  log_checkpoints: 'off',
  log_statement: 'none',
  log_min_messages: 'warning',
  log_min_error_statement: 'panic',
  log_error_verbosity: 'terse',
  log_parameter_max_length: '0',
} as const;

/** For tests and temporary sandboxes, whose data need not survive a power cut. Tests run many gateways on one server. */
const NOT_DURABLE = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off', max_connections: '250' } as const;

export function serverSettings({ port, durable, owner }: ServerNeeds): string[] {
  const settings = { ...SMALL, ...PRIVATE_LOGS, ...(durable ? {} : NOT_DURABLE), port: String(port), cluster_name: owner };
  return Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
}
