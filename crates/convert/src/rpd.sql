-- The tables of rocmProfileData's schema 3.
CREATE TABLE "rocpd_metadata" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "tag" varchar(4096) NOT NULL, "value" varchar(4096) NOT NULL);
CREATE TABLE "rocpd_string" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "string" varchar(4096) NOT NULL);
CREATE TABLE "rocpd_ustring" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "string" varchar(4096) NOT NULL);
CREATE TABLE "rocpd_api" (
    "id" integer NOT NULL PRIMARY KEY AUTOINCREMENT,
    "pid" integer NOT NULL,
    "tid" integer NOT NULL,
    "start" integer NOT NULL,
    "end" integer NOT NULL,
    "apiName_id" bigint NOT NULL,
    "category_id" bigint NOT NULL,
    "domain_id" bigint NOT NULL,
    "args_id" bigint NOT NULL
);
CREATE TABLE "rocpd_kernelapi" (
    "api_ptr_id" bigint NOT NULL PRIMARY KEY,
    "stream" varchar(18) NOT NULL,
    "gridX" integer NOT NULL,
    "gridY" integer NOT NULL,
    "gridZ" integer NOT NULL,
    "workgroupX" integer NOT NULL,
    "workgroupY" integer NOT NULL,
    "workgroupZ" integer NOT NULL,
    "groupSegmentSize" integer NOT NULL,
    "privateSegmentSize" integer NOT NULL,
    "kernelName_id" bigint NOT NULL
);
CREATE TABLE "rocpd_copyapi" (
    "api_ptr_id" bigint NOT NULL PRIMARY KEY,
    "stream" varchar(18) NOT NULL,
    "size" integer NOT NULL,
    "width" integer NOT NULL,
    "height" integer NOT NULL,
    "kind" integer NOT NULL,
    "dst" varchar(18) NOT NULL,
    "src" varchar(18) NOT NULL,
    "dstDevice" integer NOT NULL,
    "srcDevice" integer NOT NULL,
    "sync" bool NOT NULL,
    "pinned" bool NOT NULL
);
CREATE TABLE "rocpd_op" (
    "id" integer NOT NULL PRIMARY KEY AUTOINCREMENT,
    "gpuId" integer NOT NULL,
    "queueId" integer NOT NULL,
    "sequenceId" integer NOT NULL,
    "start" integer NOT NULL,
    "end" integer NOT NULL,
    "description_id" bigint NOT NULL,
    "opType_id" bigint NOT NULL
);
CREATE TABLE "rocpd_api_ops" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "api_id" bigint NOT NULL, "op_id" bigint NOT NULL);
CREATE TABLE "rocpd_monitor" (
    "id" integer NOT NULL PRIMARY KEY AUTOINCREMENT,
    "deviceType" varchar(16) NOT NULL,
    "deviceId" integer NOT NULL,
    "monitorType" varchar(16) NOT NULL,
    "start" integer NOT NULL,
    "end" integer NOT NULL,
    "value" varchar(255) NOT NULL
);
CREATE TABLE "rocpd_counter" (
    "id" integer NOT NULL PRIMARY KEY AUTOINCREMENT,
    "value" real NOT NULL,
    "op_id" bigint NOT NULL,
    "name_id" bigint NOT NULL
);
INSERT INTO "rocpd_metadata"("tag", "value") VALUES ('gpu_stride', '1000'), ('pid_stride', '10000000'), ('schema_version', '3');
