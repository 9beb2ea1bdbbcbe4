-- The tables of rocmProfileData's schema 3, one column a line.
CREATE TABLE "rocpd_metadata" (
    "id" INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
    "tag" TEXT NOT NULL,
    "value" TEXT NOT NULL
);

CREATE TABLE "rocpd_string" (
    "id" INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
    "string" TEXT NOT NULL
);

CREATE TABLE "rocpd_ustring" (
    "id" INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
    "string" TEXT NOT NULL
);

CREATE TABLE "rocpd_api" (
    "id" INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
    "pid" INTEGER NOT NULL,
    "tid" INTEGER NOT NULL,
    "start" INTEGER NOT NULL,
    "end" INTEGER NOT NULL,
    "apiName_id" INTEGER NOT NULL,
    "category_id" INTEGER NOT NULL,
    "domain_id" INTEGER NOT NULL,
    "args_id" INTEGER NOT NULL
);

CREATE TABLE "rocpd_kernelapi" (
    "api_ptr_id" BIGINT PRIMARY KEY NOT NULL,
    "stream" TEXT NOT NULL,
    "gridX" INTEGER NOT NULL,
    "gridY" INTEGER NOT NULL,
    "gridZ" INTEGER NOT NULL,
    "workgroupX" INTEGER NOT NULL,
    "workgroupY" INTEGER NOT NULL,
    "workgroupZ" INTEGER NOT NULL,
    "groupSegmentSize" INTEGER NOT NULL,
    "privateSegmentSize" INTEGER NOT NULL,
    "kernelName_id" INTEGER NOT NULL
);

CREATE TABLE "rocpd_copyapi" (
    "api_ptr_id" BIGINT PRIMARY KEY NOT NULL,
    "stream" TEXT NOT NULL,
    "size" INTEGER NOT NULL,
    "width" INTEGER NOT NULL,
    "height" INTEGER NOT NULL,
    "kind" INTEGER NOT NULL,
    "dst" TEXT NOT NULL,
    "src" TEXT NOT NULL,
    "dstDevice" INTEGER NOT NULL,
    "srcDevice" INTEGER NOT NULL,
    "sync" INTEGER NOT NULL,
    "pinned" INTEGER NOT NULL
);

CREATE TABLE "rocpd_op" (
    "id" INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
    "gpuId" INTEGER NOT NULL,
    "queueId" INTEGER NOT NULL,
    "sequenceId" INTEGER NOT NULL,
    "start" INTEGER NOT NULL,
    "end" INTEGER NOT NULL,
    "description_id" INTEGER NOT NULL,
    "opType_id" INTEGER NOT NULL
);

CREATE TABLE "rocpd_api_ops" (
    "id" INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
    "api_id" INTEGER NOT NULL,
    "op_id" INTEGER NOT NULL
);

CREATE TABLE "rocpd_monitor" (
    "id" INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
    "deviceType" TEXT NOT NULL,
    "deviceId" INTEGER NOT NULL,
    "monitorType" TEXT NOT NULL,
    "start" INTEGER NOT NULL,
    "end" INTEGER NOT NULL,
    "value" TEXT NOT NULL
);

CREATE TABLE "rocpd_counter" (
    "id" INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
    "value" REAL NOT NULL,
    "op_id" INTEGER NOT NULL,
    "name_id" INTEGER NOT NULL
);

INSERT INTO "rocpd_metadata" ("tag", "value")
VALUES ('schema_version', '3'), ('pid_stride', '10000000'), ('gpu_stride', '1000');
