-- The tables of rocpd's schema 4, one column a line; `only` says in which of 4.0 and 4.1 a line stands.
CREATE TABLE "rocpd_metadata{{suffix}}" (
    "id" INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
    "tag" TEXT NOT NULL,
    "value" TEXT NOT NULL
);

CREATE TABLE "rocpd_string{{suffix}}" (
    "id" INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
    "guid" TEXT NOT NULL DEFAULT '{{guid}}',
    "string" TEXT NOT NULL UNIQUE ON CONFLICT ABORT
);

CREATE TABLE "rocpd_info_node{{suffix}}" (
    "id" INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
    "guid" TEXT NOT NULL DEFAULT '{{guid}}',
    "hash" BIGINT NOT NULL UNIQUE,
    "machine_id" TEXT NOT NULL UNIQUE,
    "name" TEXT,
    "system_name" TEXT,
    "hostname" TEXT,
    "release" TEXT,
    "version" TEXT,
    "hardware_name" TEXT,
    "domain_name" TEXT
);

CREATE TABLE "rocpd_info_process{{suffix}}" (
    "id" INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
    "guid" TEXT NOT NULL DEFAULT '{{guid}}',
    "nid" INTEGER NOT NULL REFERENCES "rocpd_info_node{{suffix}}" ("id") ON UPDATE CASCADE,
    "ppid" INTEGER,
    "pid" INTEGER NOT NULL,
    "name" TEXT,
    "init" BIGINT,
    "fini" BIGINT,
    "start" BIGINT,
    "end" BIGINT,
    "command" TEXT,
    "environment" JSONB NOT NULL DEFAULT '{}',
    "extdata" JSONB NOT NULL DEFAULT '{}'
);

CREATE TABLE "rocpd_info_thread{{suffix}}" (
    "id" INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
    "guid" TEXT NOT NULL DEFAULT '{{guid}}',
    "nid" INTEGER NOT NULL REFERENCES "rocpd_info_node{{suffix}}" ("id") ON UPDATE CASCADE,
    "ppid" INTEGER,
    "pid" INTEGER NOT NULL REFERENCES "rocpd_info_process{{suffix}}" ("id") ON UPDATE CASCADE,
    "tid" INTEGER NOT NULL,
    "name" TEXT,
    "start" BIGINT,
    "end" BIGINT,
    "extdata" JSONB NOT NULL DEFAULT '{}'
);

CREATE TABLE "rocpd_info_category{{suffix}}" (
    "id" INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
    "guid" TEXT NOT NULL DEFAULT '{{guid}}',
    "name" TEXT NOT NULL,
    "extdata" JSONB NOT NULL DEFAULT '{}'
);

CREATE TABLE "rocpd_info_agent{{suffix}}" (
    "id" INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
    "guid" TEXT NOT NULL DEFAULT '{{guid}}',
    "nid" INTEGER NOT NULL REFERENCES "rocpd_info_node{{suffix}}" ("id") ON UPDATE CASCADE,
    "pid" INTEGER NOT NULL REFERENCES "rocpd_info_process{{suffix}}" ("id") ON UPDATE CASCADE,
    "type" TEXT CHECK ("type" IN ('CPU', 'GPU', 'NIC')),
    "absolute_index" INTEGER,
    "logical_index" INTEGER,
    "type_index" INTEGER,
    "uuid" INTEGER,
    "name" TEXT,
    "generic_name" TEXT,
    "model_name" TEXT,
    "vendor_name" TEXT,
    "product_name" TEXT,
    "extdata" JSONB NOT NULL DEFAULT '{}'
);

CREATE TABLE "rocpd_info_queue{{suffix}}" (
    "id" INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
    "guid" TEXT NOT NULL DEFAULT '{{guid}}',
    "nid" INTEGER NOT NULL REFERENCES "rocpd_info_node{{suffix}}" ("id") ON UPDATE CASCADE,
    "pid" INTEGER NOT NULL REFERENCES "rocpd_info_process{{suffix}}" ("id") ON UPDATE CASCADE,
    "name" TEXT,
    "extdata" JSONB NOT NULL DEFAULT '{}'
);

CREATE TABLE "rocpd_info_stream{{suffix}}" (
    "id" INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
    "guid" TEXT NOT NULL DEFAULT '{{guid}}',
    "nid" INTEGER NOT NULL REFERENCES "rocpd_info_node{{suffix}}" ("id") ON UPDATE CASCADE,
    "pid" INTEGER NOT NULL REFERENCES "rocpd_info_process{{suffix}}" ("id") ON UPDATE CASCADE,
    "name" TEXT,
    "extdata" JSONB NOT NULL DEFAULT '{}'
);

CREATE TABLE "rocpd_info_pmc{{suffix}}" (
    "id" INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
    "guid" TEXT NOT NULL DEFAULT '{{guid}}',
    "nid" INTEGER NOT NULL REFERENCES "rocpd_info_node{{suffix}}" ("id") ON UPDATE CASCADE,
    "pid" INTEGER NOT NULL REFERENCES "rocpd_info_process{{suffix}}" ("id") ON UPDATE CASCADE,
    "agent_id" INTEGER REFERENCES "rocpd_info_agent{{suffix}}" ("id") ON UPDATE CASCADE,
    "target_arch" TEXT CHECK ("target_arch" IN ('CPU', 'GPU', 'NIC')),
    "event_code" INTEGER,
    "instance_id" INTEGER,
    "name" TEXT NOT NULL,
    "symbol" TEXT NOT NULL,
    "qualifier" TEXT,
    "description" TEXT,
    "long_description" TEXT DEFAULT '',
    "component" TEXT,
    "units" TEXT DEFAULT '',
    "value_type" TEXT CHECK ("value_type" IN ('ABS', 'ACCUM', 'RELATIVE')),
    "block" TEXT,
    "expression" TEXT,
    "is_constant" INTEGER,
    "is_derived" INTEGER,
    "extdata" JSONB NOT NULL DEFAULT '{}'
);

CREATE TABLE "rocpd_info_code_object{{suffix}}" (
    "id" INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
    "guid" TEXT NOT NULL DEFAULT '{{guid}}',
    "nid" INTEGER NOT NULL REFERENCES "rocpd_info_node{{suffix}}" ("id") ON UPDATE CASCADE,
    "pid" INTEGER NOT NULL REFERENCES "rocpd_info_process{{suffix}}" ("id") ON UPDATE CASCADE,
    "agent_id" INTEGER REFERENCES "rocpd_info_agent{{suffix}}" ("id") ON UPDATE CASCADE,
    "uri" TEXT,
    "load_base" BIGINT,
    "load_size" BIGINT,
    "load_delta" BIGINT,
    "storage_type" TEXT CHECK ("storage_type" IN ('FILE', 'MEMORY')),
    "extdata" JSONB NOT NULL DEFAULT '{}'
);

CREATE TABLE "rocpd_info_kernel_symbol{{suffix}}" (
    "id" INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
    "guid" TEXT NOT NULL DEFAULT '{{guid}}',
    "nid" INTEGER NOT NULL REFERENCES "rocpd_info_node{{suffix}}" ("id") ON UPDATE CASCADE,
    "pid" INTEGER NOT NULL REFERENCES "rocpd_info_process{{suffix}}" ("id") ON UPDATE CASCADE,
    "code_object_id" INTEGER NOT NULL REFERENCES "rocpd_info_code_object{{suffix}}" ("id") ON UPDATE CASCADE,
    "kernel_name" TEXT,
    "display_name" TEXT,
    "kernel_object" INTEGER,
    "kernarg_segment_size" INTEGER,
    "kernarg_segment_alignment" INTEGER,
    "group_segment_size" INTEGER,
    "private_segment_size" INTEGER,
    "sgpr_count" INTEGER,
    "arch_vgpr_count" INTEGER,
    "accum_vgpr_count" INTEGER,
    "extdata" JSONB NOT NULL DEFAULT '{}'
);

CREATE TABLE "rocpd_info_address_range{{suffix}}" (
    "id" INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
    "guid" TEXT NOT NULL DEFAULT '{{guid}}',
    "nid" INTEGER NOT NULL REFERENCES "rocpd_info_node{{suffix}}" ("id") ON UPDATE CASCADE,
    "pid" INTEGER NOT NULL REFERENCES "rocpd_info_process{{suffix}}" ("id") ON UPDATE CASCADE,
    "address_base" BIGINT,
    "address_low" BIGINT CHECK ("address_low" >= "address_base"),
    "address_high" BIGINT CHECK ("address_high" >= "address_low"),
    "extdata" JSONB NOT NULL DEFAULT '{}'
);

CREATE TABLE "rocpd_info_source_code{{suffix}}" (
    "id" INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
    "guid" TEXT NOT NULL DEFAULT '{{guid}}',
    "nid" INTEGER NOT NULL REFERENCES "rocpd_info_node{{suffix}}" ("id") ON UPDATE CASCADE,
    "pid" INTEGER NOT NULL REFERENCES "rocpd_info_process{{suffix}}" ("id") ON UPDATE CASCADE,
    "address_id" INTEGER REFERENCES "rocpd_info_address_range{{suffix}}" ("id") ON UPDATE CASCADE,
    "file" TEXT,
    "line_number" INTEGER,
    "lines" JSONB NOT NULL DEFAULT '[]',
    "instructions" JSONB NOT NULL DEFAULT '[]',
    "extdata" JSONB NOT NULL DEFAULT '{}'
);

CREATE TABLE "rocpd_info_pc{{suffix}}" (
    "id" INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
    "guid" TEXT NOT NULL DEFAULT '{{guid}}',
    "nid" INTEGER NOT NULL REFERENCES "rocpd_info_node{{suffix}}" ("id") ON UPDATE CASCADE,
    "pid" INTEGER NOT NULL REFERENCES "rocpd_info_process{{suffix}}" ("id") ON UPDATE CASCADE,
    "function" TEXT NOT NULL,
    "address_id" INTEGER REFERENCES "rocpd_info_address_range{{suffix}}" ("id") ON UPDATE CASCADE,
    "file" TEXT,
    "line" INTEGER,
    "extdata" JSONB NOT NULL DEFAULT '{}'
);

CREATE TABLE "rocpd_track{{suffix}}" (
    "id" INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
    "guid" TEXT NOT NULL DEFAULT '{{guid}}',
    "nid" INTEGER NOT NULL REFERENCES "rocpd_info_node{{suffix}}" ("id") ON UPDATE CASCADE,
    "ppid" INTEGER,
    "pid" INTEGER REFERENCES "rocpd_info_process{{suffix}}" ("id") ON UPDATE CASCADE,
    "tid" INTEGER REFERENCES "rocpd_info_thread{{suffix}}" ("id") ON UPDATE CASCADE,
    "agent_id" INTEGER REFERENCES "rocpd_info_agent{{suffix}}" ("id") ON UPDATE CASCADE,
    "queue_id" INTEGER REFERENCES "rocpd_info_queue{{suffix}}" ("id") ON UPDATE CASCADE,
    "stream_id" INTEGER REFERENCES "rocpd_info_stream{{suffix}}" ("id") ON UPDATE CASCADE,
    "name_id" INTEGER REFERENCES "rocpd_string{{suffix}}" ("id") ON UPDATE CASCADE,
    "extdata" JSONB NOT NULL DEFAULT '{}'
);

CREATE TABLE "rocpd_timestamp{{suffix}}" ( -- only 4.0
    "id" INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
    "guid" TEXT NOT NULL DEFAULT '{{guid}}',
    "value" BIGINT NOT NULL,
    "phase" INTEGER CHECK ("phase" IN (0, 1, 2)),
    "track_id" INTEGER REFERENCES "rocpd_track{{suffix}}" ("id") ON UPDATE CASCADE
);

CREATE TABLE "rocpd_event{{suffix}}" (
    "id" INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
    "guid" TEXT NOT NULL DEFAULT '{{guid}}',
    "category_id" INTEGER REFERENCES "rocpd_info_category{{suffix}}" ("id") ON UPDATE CASCADE,
    "stack_id" INTEGER,
    "parent_stack_id" INTEGER,
    "correlation_id" INTEGER,
    "extdata" JSONB NOT NULL DEFAULT '{}'
);

CREATE TABLE "rocpd_arg{{suffix}}" (
    "id" INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
    "guid" TEXT NOT NULL DEFAULT '{{guid}}',
    "event_id" INTEGER NOT NULL REFERENCES "rocpd_event{{suffix}}" ("id") ON UPDATE CASCADE,
    "position" INTEGER NOT NULL,
    "type" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "value" TEXT,
    "extdata" JSONB NOT NULL DEFAULT '{}'
);

CREATE TABLE "rocpd_line_info{{suffix}}" (
    "id" INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
    "guid" TEXT NOT NULL DEFAULT '{{guid}}',
    "event_id" INTEGER NOT NULL REFERENCES "rocpd_event{{suffix}}" ("id") ON UPDATE CASCADE,
    "source_code_id" INTEGER REFERENCES "rocpd_info_source_code{{suffix}}" ("id") ON UPDATE CASCADE,
    "pc_id" INTEGER REFERENCES "rocpd_info_pc{{suffix}}" ("id") ON UPDATE CASCADE,
    "extdata" JSONB NOT NULL DEFAULT '{}'
);

CREATE TABLE "rocpd_call_stack{{suffix}}" (
    "id" INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
    "guid" TEXT NOT NULL DEFAULT '{{guid}}',
    "event_id" INTEGER NOT NULL REFERENCES "rocpd_event{{suffix}}" ("id") ON UPDATE CASCADE,
    "pc_id" INTEGER REFERENCES "rocpd_info_pc{{suffix}}" ("id") ON UPDATE CASCADE,
    "depth" INTEGER NOT NULL,
    "extdata" JSONB NOT NULL DEFAULT '{}'
);

CREATE TABLE "rocpd_pmc_event{{suffix}}" (
    "id" INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
    "guid" TEXT NOT NULL DEFAULT '{{guid}}',
    "event_id" INTEGER REFERENCES "rocpd_event{{suffix}}" ("id") ON UPDATE CASCADE,
    "pmc_id" INTEGER NOT NULL REFERENCES "rocpd_info_pmc{{suffix}}" ("id") ON UPDATE CASCADE,
    "value" REAL DEFAULT 0.0,
    "extdata" JSONB DEFAULT '{}'
);

CREATE TABLE "rocpd_region{{suffix}}" (
    "id" INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
    "guid" TEXT NOT NULL DEFAULT '{{guid}}',
    "track_id" INTEGER NOT NULL REFERENCES "rocpd_track{{suffix}}" ("id") ON UPDATE CASCADE,
    "start" BIGINT NOT NULL, -- only 4.1
    "start_id" INTEGER NOT NULL REFERENCES "rocpd_timestamp{{suffix}}" ("id") ON UPDATE CASCADE, -- only 4.0
    "end" BIGINT NOT NULL, -- only 4.1
    "end_id" INTEGER NOT NULL REFERENCES "rocpd_timestamp{{suffix}}" ("id") ON UPDATE CASCADE, -- only 4.0
    "name_id" INTEGER NOT NULL REFERENCES "rocpd_string{{suffix}}" ("id") ON UPDATE CASCADE,
    "event_id" INTEGER REFERENCES "rocpd_event{{suffix}}" ("id") ON UPDATE CASCADE,
    "extdata" JSONB NOT NULL DEFAULT '{}'
);

CREATE TABLE "rocpd_sample{{suffix}}" (
    "id" INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
    "guid" TEXT NOT NULL DEFAULT '{{guid}}',
    "track_id" INTEGER NOT NULL REFERENCES "rocpd_track{{suffix}}" ("id") ON UPDATE CASCADE,
    "name_id" INTEGER NOT NULL REFERENCES "rocpd_string{{suffix}}" ("id") ON UPDATE CASCADE,
    "timestamp" BIGINT NOT NULL, -- only 4.1
    "timestamp_id" INTEGER NOT NULL REFERENCES "rocpd_timestamp{{suffix}}" ("id") ON UPDATE CASCADE, -- only 4.0
    "event_id" INTEGER REFERENCES "rocpd_event{{suffix}}" ("id") ON UPDATE CASCADE,
    "extdata" JSONB NOT NULL DEFAULT '{}'
);

CREATE TABLE "rocpd_kernel_dispatch{{suffix}}" (
    "id" INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
    "guid" TEXT NOT NULL DEFAULT '{{guid}}',
    "track_id" INTEGER NOT NULL REFERENCES "rocpd_track{{suffix}}" ("id") ON UPDATE CASCADE,
    "kernel_id" INTEGER NOT NULL REFERENCES "rocpd_info_kernel_symbol{{suffix}}" ("id") ON UPDATE CASCADE,
    "dispatch_id" INTEGER NOT NULL,
    "start" BIGINT NOT NULL, -- only 4.1
    "start_id" INTEGER NOT NULL REFERENCES "rocpd_timestamp{{suffix}}" ("id") ON UPDATE CASCADE, -- only 4.0
    "end" BIGINT NOT NULL, -- only 4.1
    "end_id" INTEGER NOT NULL REFERENCES "rocpd_timestamp{{suffix}}" ("id") ON UPDATE CASCADE, -- only 4.0
    "private_segment_size" INTEGER,
    "group_segment_size" INTEGER,
    "workgroup_size_x" INTEGER NOT NULL,
    "workgroup_size_y" INTEGER NOT NULL,
    "workgroup_size_z" INTEGER NOT NULL,
    "grid_size_x" INTEGER NOT NULL,
    "grid_size_y" INTEGER NOT NULL,
    "grid_size_z" INTEGER NOT NULL,
    "region_name_id" INTEGER REFERENCES "rocpd_string{{suffix}}" ("id") ON UPDATE CASCADE,
    "event_id" INTEGER REFERENCES "rocpd_event{{suffix}}" ("id") ON UPDATE CASCADE,
    "extdata" JSONB NOT NULL DEFAULT '{}'
);

CREATE TABLE "rocpd_memory_copy{{suffix}}" (
    "id" INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
    "guid" TEXT NOT NULL DEFAULT '{{guid}}',
    "track_id" INTEGER NOT NULL REFERENCES "rocpd_track{{suffix}}" ("id") ON UPDATE CASCADE,
    "start" BIGINT NOT NULL, -- only 4.1
    "start_id" INTEGER NOT NULL REFERENCES "rocpd_timestamp{{suffix}}" ("id") ON UPDATE CASCADE, -- only 4.0
    "end" BIGINT NOT NULL, -- only 4.1
    "end_id" INTEGER NOT NULL REFERENCES "rocpd_timestamp{{suffix}}" ("id") ON UPDATE CASCADE, -- only 4.0
    "name_id" INTEGER NOT NULL REFERENCES "rocpd_string{{suffix}}" ("id") ON UPDATE CASCADE,
    "dst_agent_id" INTEGER REFERENCES "rocpd_info_agent{{suffix}}" ("id") ON UPDATE CASCADE,
    "dst_address" INTEGER,
    "src_agent_id" INTEGER REFERENCES "rocpd_info_agent{{suffix}}" ("id") ON UPDATE CASCADE,
    "src_address" INTEGER,
    "size" INTEGER NOT NULL,
    "region_name_id" INTEGER REFERENCES "rocpd_string{{suffix}}" ("id") ON UPDATE CASCADE,
    "event_id" INTEGER REFERENCES "rocpd_event{{suffix}}" ("id") ON UPDATE CASCADE,
    "extdata" JSONB NOT NULL DEFAULT '{}'
);

CREATE TABLE "rocpd_memory_allocate{{suffix}}" (
    "id" INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
    "guid" TEXT NOT NULL DEFAULT '{{guid}}',
    "track_id" INTEGER NOT NULL REFERENCES "rocpd_track{{suffix}}" ("id") ON UPDATE CASCADE,
    "type" TEXT CHECK ("type" IN ('ALLOC', 'FREE', 'REALLOC', 'RECLAIM')),
    "level" TEXT CHECK ("level" IN ('REAL', 'VIRTUAL', 'SCRATCH')),
    "start" BIGINT NOT NULL, -- only 4.1
    "start_id" INTEGER NOT NULL REFERENCES "rocpd_timestamp{{suffix}}" ("id") ON UPDATE CASCADE, -- only 4.0
    "end" BIGINT NOT NULL, -- only 4.1
    "end_id" INTEGER NOT NULL REFERENCES "rocpd_timestamp{{suffix}}" ("id") ON UPDATE CASCADE, -- only 4.0
    "name_id" INTEGER NOT NULL REFERENCES "rocpd_string{{suffix}}" ("id") ON UPDATE CASCADE,
    "address" INTEGER,
    "size" INTEGER NOT NULL,
    "region_name_id" INTEGER REFERENCES "rocpd_string{{suffix}}" ("id") ON UPDATE CASCADE,
    "event_id" INTEGER REFERENCES "rocpd_event{{suffix}}" ("id") ON UPDATE CASCADE,
    "extdata" JSONB NOT NULL DEFAULT '{}'
);
