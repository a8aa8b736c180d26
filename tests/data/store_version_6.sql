BEGIN TRANSACTION;
CREATE TABLE chat_compactions (
	id TEXT NOT NULL, 
	scope TEXT NOT NULL, 
	session_id TEXT NOT NULL, 
	epoch INTEGER NOT NULL, 
	"trigger" TEXT NOT NULL, 
	state TEXT NOT NULL, 
	reason TEXT NOT NULL, 
	attempt INTEGER NOT NULL, 
	next_attempt_at TEXT, 
	created_at TEXT NOT NULL, 
	PRIMARY KEY (id)
);
CREATE TABLE chat_epochs (
	scope TEXT NOT NULL, 
	session_id TEXT NOT NULL, 
	epoch INTEGER NOT NULL, 
	first_position INTEGER NOT NULL, 
	started_at TEXT, 
	PRIMARY KEY (scope, session_id, epoch)
);
INSERT INTO "chat_epochs" VALUES('main','t',1,0,NULL);
INSERT INTO "chat_epochs" VALUES('main','t',2,1,'2026-11-15T20:40:00.467466Z');
CREATE TABLE chat_flushes (
	id TEXT NOT NULL, 
	scope TEXT NOT NULL, 
	session_id TEXT NOT NULL, 
	epoch INTEGER NOT NULL, 
	number INTEGER NOT NULL, 
	first_position INTEGER NOT NULL, 
	last_position INTEGER NOT NULL, 
	"trigger" TEXT NOT NULL, 
	made_by TEXT NOT NULL, 
	created_at TEXT NOT NULL, 
	replaced_at TEXT, 
	PRIMARY KEY (id), 
	CONSTRAINT uq_chat_flushes_number UNIQUE (scope, session_id, epoch, number)
);
CREATE TABLE chat_summaries (
	id TEXT NOT NULL, 
	scope TEXT NOT NULL, 
	session_id TEXT NOT NULL, 
	epoch INTEGER NOT NULL, 
	generation INTEGER NOT NULL, 
	first_position INTEGER NOT NULL, 
	last_position INTEGER NOT NULL, 
	first_message_id TEXT NOT NULL, 
	last_message_id TEXT NOT NULL, 
	previous_id TEXT, 
	content TEXT NOT NULL, 
	tokens INTEGER NOT NULL, 
	made_by TEXT NOT NULL, 
	created_at TEXT NOT NULL, 
	replaced_at TEXT, 
	PRIMARY KEY (id), 
	CONSTRAINT uq_chat_summaries_generation UNIQUE (scope, session_id, epoch, generation)
);
CREATE TABLE conversation_history (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	scope TEXT NOT NULL, 
	session_id TEXT NOT NULL, 
	position INTEGER NOT NULL, 
	message_id TEXT NOT NULL, 
	role TEXT NOT NULL, 
	content TEXT NOT NULL, 
	created_at TEXT NOT NULL, 
	replaced_at TEXT, 
	UNIQUE (message_id)
);
INSERT INTO "conversation_history" VALUES(1,'main','s',0,'01a1e0f0-2808-7682-b420-459a745c51fa','user','{"role":"user","content":"message 0"}','2026-11-15T20:39:57.704349Z',NULL);
INSERT INTO "conversation_history" VALUES(2,'main','s',1,'01a1e0f0-2808-76d6-bf2f-68646c1b6a0e','assistant','{"role":"assistant","content":"message 1"}','2026-11-15T20:39:57.704349Z',NULL);
INSERT INTO "conversation_history" VALUES(3,'main','s',2,'01a1e0f0-2808-76eb-bfc2-af94ccc64e80','user','{"role":"user","content":"message 2"}','2026-11-15T20:39:57.704349Z',NULL);
INSERT INTO "conversation_history" VALUES(4,'main','s',3,'01a1e0f0-2808-76ff-b530-9be16e0c2c46','assistant','{"role":"assistant","content":"message 3"}','2026-11-15T20:39:57.704349Z',NULL);
INSERT INTO "conversation_history" VALUES(5,'main','s',4,'01a1e0f0-2808-770b-ba6c-86e288d3680a','user','{"role":"user","content":"message 4"}','2026-11-15T20:39:57.704349Z',NULL);
INSERT INTO "conversation_history" VALUES(6,'main','c',0,'01a1e0f0-2f53-7a2d-894e-e28a456f7df8','user','{"role":"user","content":"I am allergic to nuts"}','2026-11-15T20:39:59.570078Z',NULL);
INSERT INTO "conversation_history" VALUES(7,'main','c',1,'01a1e0f0-2f53-7ac2-97ec-b0ad85e62693','assistant','{"role":"assistant","content":"ok"}','2026-11-15T20:39:59.570078Z',NULL);
INSERT INTO "conversation_history" VALUES(8,'main','t',0,'01a1e0f0-32cc-796b-9a29-b97eab0dc305','user','{"role":"user","content":"first epoch"}','2026-11-15T20:40:00.460539Z',NULL);
INSERT INTO "conversation_history" VALUES(9,'main','t',1,'01a1e0f0-32d9-7508-ae05-39ff233c9c76','user','{"role":"user","content":"second epoch"}','2026-11-15T20:40:00.473253Z',NULL);
CREATE TABLE flush_candidates (
	id TEXT NOT NULL, 
	scope TEXT NOT NULL, 
	session_id TEXT NOT NULL, 
	epoch INTEGER NOT NULL, 
	content TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	confidence DOUBLE NOT NULL, 
	domain TEXT, 
	importance DOUBLE, 
	first_message_id TEXT NOT NULL, 
	last_message_id TEXT NOT NULL, 
	first_position INTEGER NOT NULL, 
	last_position INTEGER NOT NULL, 
	made_by TEXT NOT NULL, 
	state TEXT NOT NULL, 
	state_at TEXT, 
	taken_by TEXT, 
	created_at TEXT NOT NULL, 
	PRIMARY KEY (id)
);
CREATE TABLE jobs (
	sequence INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	id TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	scope TEXT NOT NULL, 
	payload TEXT NOT NULL, 
	state TEXT NOT NULL, 
	attempt INTEGER NOT NULL, 
	not_before TEXT NOT NULL, 
	lease_until TEXT, 
	lease_by TEXT, 
	reason TEXT NOT NULL, 
	created_at TEXT NOT NULL, 
	finished_at TEXT, 
	dedupe_key TEXT, 
	UNIQUE (id)
);
INSERT INTO "jobs" VALUES(1,'01a1e0f0-2f51-7f3c-b064-1699243ea0e1','longterm.round','main','{"conversation_id":"c","messages":["01a1e0f0-2f53-7a2d-894e-e28a456f7df8","01a1e0f0-2f53-7ac2-97ec-b0ad85e62693"]}','done',1,'2026-11-15T20:39:59.572150Z',NULL,'25567-01a1e0f0-2722-78cb-b5f7-33e319608dd5','','2026-11-15T20:39:59.572150Z','2026-11-15T20:40:00.413680Z',NULL);
CREATE TABLE memory_changes (
	sequence INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	entry_id TEXT NOT NULL, 
	scope TEXT NOT NULL, 
	"key" TEXT, 
	version INTEGER NOT NULL, 
	operation TEXT NOT NULL, 
	changed_at TEXT NOT NULL, 
	changed_by TEXT NOT NULL, 
	changed TEXT NOT NULL, 
	"before" TEXT, 
	CONSTRAINT uq_memory_changes_entry_version UNIQUE (entry_id, version)
);
INSERT INTO "memory_changes" VALUES(1,'01a1e0f0-27df-7762-9c22-ac090700805a','main','city',1,'create','2026-11-15T20:39:57.663454Z','user','[]',NULL);
INSERT INTO "memory_changes" VALUES(2,'01a1e0f0-27df-7762-9c22-ac090700805a','main','city',2,'update','2026-11-15T20:39:57.671419Z','user','["content"]','{"id":"01a1e0f0-27df-7762-9c22-ac090700805a","scope":"main","key":"city","content":"lives in Turin","category":"core","memory_type":"fact","domain":null,"more_domains":[],"reasoning":"","importance_score":0.5,"strength":1,"tags":[],"conversation_id":null,"position":null,"source":{"kind":"stored","trust":"user","references":[]},"occurred_at":null,"created_at":"2026-11-15T20:39:57.663454Z","updated_at":"2026-11-15T20:39:57.663454Z","last_accessed_at":"2026-11-15T20:39:57.663454Z","access_count":0,"is_active":true,"pinned":false,"superseded_by":null,"summarized_by":null,"version":1}');
INSERT INTO "memory_changes" VALUES(3,'01a1e0f0-27ff-77c3-be5d-679407bcb941','alice','cat',1,'create','2026-11-15T20:39:57.695478Z','user','[]',NULL);
INSERT INTO "memory_changes" VALUES(4,'01a1e0f0-2808-7682-b420-459a745c51fa','main',NULL,1,'create','2026-11-15T20:39:57.704349Z','user','[]',NULL);
INSERT INTO "memory_changes" VALUES(5,'01a1e0f0-2808-76d6-bf2f-68646c1b6a0e','main',NULL,1,'create','2026-11-15T20:39:57.704349Z','user','[]',NULL);
INSERT INTO "memory_changes" VALUES(6,'01a1e0f0-2808-76eb-bfc2-af94ccc64e80','main',NULL,1,'create','2026-11-15T20:39:57.704349Z','user','[]',NULL);
INSERT INTO "memory_changes" VALUES(7,'01a1e0f0-2808-76ff-b530-9be16e0c2c46','main',NULL,1,'create','2026-11-15T20:39:57.704349Z','user','[]',NULL);
INSERT INTO "memory_changes" VALUES(8,'01a1e0f0-2808-770b-ba6c-86e288d3680a','main',NULL,1,'create','2026-11-15T20:39:57.704349Z','user','[]',NULL);
INSERT INTO "memory_changes" VALUES(9,'01a1e0f0-2b6b-744c-80bb-269edc58e785','main',NULL,1,'create','2026-11-15T20:39:58.571261Z','user','[]',NULL);
INSERT INTO "memory_changes" VALUES(10,'01a1e0f0-2f53-7a2d-894e-e28a456f7df8','main',NULL,1,'create','2026-11-15T20:39:59.570078Z','user','[]',NULL);
INSERT INTO "memory_changes" VALUES(11,'01a1e0f0-2f53-7ac2-97ec-b0ad85e62693','main',NULL,1,'create','2026-11-15T20:39:59.570078Z','user','[]',NULL);
INSERT INTO "memory_changes" VALUES(12,'01a1e0f0-329d-776a-b6ae-41b48eecaccf','main','ltf3b26eb91c3b1bb75f480',1,'create','2026-11-15T20:40:00.413448Z','user','[]',NULL);
INSERT INTO "memory_changes" VALUES(13,'01a1e0f0-32cc-796b-9a29-b97eab0dc305','main',NULL,1,'create','2026-11-15T20:40:00.460539Z','user','[]',NULL);
INSERT INTO "memory_changes" VALUES(14,'01a1e0f0-32d9-7508-ae05-39ff233c9c76','main',NULL,1,'create','2026-11-15T20:40:00.473253Z','user','[]',NULL);
CREATE TABLE memory_records (
	id TEXT NOT NULL, 
	scope TEXT NOT NULL, 
	"key" TEXT, 
	content TEXT NOT NULL, 
	reasoning TEXT NOT NULL, 
	category TEXT NOT NULL, 
	memory_type TEXT NOT NULL, 
	domain TEXT, 
	importance_score DOUBLE NOT NULL, 
	strength INTEGER NOT NULL, 
	tags TEXT NOT NULL, 
	conversation_id TEXT, 
	position INTEGER, 
	source TEXT NOT NULL, 
	occurred_at TEXT, 
	event_time TEXT NOT NULL, 
	created_at TEXT NOT NULL, 
	updated_at TEXT NOT NULL, 
	last_accessed_at TEXT NOT NULL, 
	access_count INTEGER NOT NULL, 
	is_active BOOLEAN NOT NULL, 
	pinned BOOLEAN NOT NULL, 
	superseded_by TEXT, 
	summarized_by TEXT, 
	more_domains TEXT DEFAULT '' NOT NULL, 
	version INTEGER NOT NULL, 
	PRIMARY KEY (id), 
	CONSTRAINT uq_memory_records_scope_key UNIQUE (scope, "key")
);
INSERT INTO "memory_records" VALUES('01a1e0f0-27df-7762-9c22-ac090700805a','main','city','lives in Oslo','','core','fact',NULL,0.5,1,'[]',NULL,NULL,'{"kind":"stored","trust":"user","references":[]}',NULL,'2026-11-15T20:39:57.663454Z','2026-11-15T20:39:57.663454Z','2026-11-15T20:39:57.671419Z','2026-11-15T20:39:57.663454Z',0,1,0,NULL,NULL,'',2);
INSERT INTO "memory_records" VALUES('01a1e0f0-27ff-77c3-be5d-679407bcb941','alice','cat','我家的猫叫年糕','','core','fact',NULL,0.5,1,'["猫","home"]',NULL,NULL,'{"kind":"stored","trust":"user","references":[]}',NULL,'2026-11-15T20:39:57.695478Z','2026-11-15T20:39:57.695478Z','2026-11-15T20:39:57.695478Z','2026-11-15T20:39:57.695478Z',0,1,0,NULL,NULL,'',1);
INSERT INTO "memory_records" VALUES('01a1e0f0-2808-7682-b420-459a745c51fa','main',NULL,'message 0','','conversation','message',NULL,0.5,1,'[]','s',0,'{"kind":"message","trust":"user","references":["01a1e0f0-2808-7682-b420-459a745c51fa"]}',NULL,'2026-11-15T20:39:57.704349Z','2026-11-15T20:39:57.704349Z','2026-11-15T20:39:57.704349Z','2026-11-15T20:39:57.704349Z',0,1,0,NULL,NULL,'',1);
INSERT INTO "memory_records" VALUES('01a1e0f0-2808-76d6-bf2f-68646c1b6a0e','main',NULL,'message 1','','conversation','message',NULL,0.5,1,'[]','s',1,'{"kind":"message","trust":"agent","references":["01a1e0f0-2808-76d6-bf2f-68646c1b6a0e"]}',NULL,'2026-11-15T20:39:57.704349Z','2026-11-15T20:39:57.704349Z','2026-11-15T20:39:57.704349Z','2026-11-15T20:39:57.704349Z',0,1,0,NULL,NULL,'',1);
INSERT INTO "memory_records" VALUES('01a1e0f0-2808-76eb-bfc2-af94ccc64e80','main',NULL,'message 2','','conversation','message',NULL,0.5,1,'[]','s',2,'{"kind":"message","trust":"user","references":["01a1e0f0-2808-76eb-bfc2-af94ccc64e80"]}',NULL,'2026-11-15T20:39:57.704349Z','2026-11-15T20:39:57.704349Z','2026-11-15T20:39:57.704349Z','2026-11-15T20:39:57.704349Z',0,1,0,NULL,NULL,'',1);
INSERT INTO "memory_records" VALUES('01a1e0f0-2808-76ff-b530-9be16e0c2c46','main',NULL,'message 3','','conversation','message',NULL,0.5,1,'[]','s',3,'{"kind":"message","trust":"agent","references":["01a1e0f0-2808-76ff-b530-9be16e0c2c46"]}',NULL,'2026-11-15T20:39:57.704349Z','2026-11-15T20:39:57.704349Z','2026-11-15T20:39:57.704349Z','2026-11-15T20:39:57.704349Z',0,1,0,NULL,NULL,'',1);
INSERT INTO "memory_records" VALUES('01a1e0f0-2808-770b-ba6c-86e288d3680a','main',NULL,'message 4','','conversation','message',NULL,0.5,1,'[]','s',4,'{"kind":"message","trust":"user","references":["01a1e0f0-2808-770b-ba6c-86e288d3680a"]}',NULL,'2026-11-15T20:39:57.704349Z','2026-11-15T20:39:57.704349Z','2026-11-15T20:39:57.704349Z','2026-11-15T20:39:57.704349Z',0,1,0,NULL,NULL,'',1);
INSERT INTO "memory_records" VALUES('01a1e0f0-2b6b-744c-80bb-269edc58e785','main',NULL,'green tea is best at 80 degrees','measured','core','fact',NULL,0.5,1,'["tea"]',NULL,NULL,'{"kind":"runtime","trust":"agent","references":[]}',NULL,'2026-11-15T20:39:58.571261Z','2026-11-15T20:39:58.571261Z','2026-11-15T20:39:58.571261Z','2026-11-15T20:39:58.571261Z',0,1,0,NULL,NULL,'',1);
INSERT INTO "memory_records" VALUES('01a1e0f0-2f53-7a2d-894e-e28a456f7df8','main',NULL,'I am allergic to nuts','','conversation','message',NULL,0.5,1,'[]','c',0,'{"kind":"message","trust":"user","references":["01a1e0f0-2f53-7a2d-894e-e28a456f7df8"]}',NULL,'2026-11-15T20:39:59.570078Z','2026-11-15T20:39:59.570078Z','2026-11-15T20:39:59.570078Z','2026-11-15T20:39:59.570078Z',0,1,0,NULL,NULL,'',1);
INSERT INTO "memory_records" VALUES('01a1e0f0-2f53-7ac2-97ec-b0ad85e62693','main',NULL,'ok','','conversation','message',NULL,0.5,1,'[]','c',1,'{"kind":"message","trust":"agent","references":["01a1e0f0-2f53-7ac2-97ec-b0ad85e62693"]}',NULL,'2026-11-15T20:39:59.570078Z','2026-11-15T20:39:59.570078Z','2026-11-15T20:39:59.570078Z','2026-11-15T20:39:59.570078Z',0,1,0,NULL,NULL,'',1);
INSERT INTO "memory_records" VALUES('01a1e0f0-329d-776a-b6ae-41b48eecaccf','main','ltf3b26eb91c3b1bb75f480','I am allergic to nuts','','core','fact','lifestyle_and_interests',0.95,1,'[]','c',NULL,'{"kind":"rules","trust":"user","references":["01a1e0f0-2f53-7a2d-894e-e28a456f7df8","01a1e0f0-2f53-7ac2-97ec-b0ad85e62693"]}',NULL,'2026-11-15T20:40:00.413448Z','2026-11-15T20:40:00.413448Z','2026-11-15T20:40:00.413448Z','2026-11-15T20:40:00.413448Z',0,1,0,NULL,NULL,'',1);
INSERT INTO "memory_records" VALUES('01a1e0f0-32cc-796b-9a29-b97eab0dc305','main',NULL,'first epoch','','conversation','message',NULL,0.5,1,'[]','t',0,'{"kind":"message","trust":"user","references":["01a1e0f0-32cc-796b-9a29-b97eab0dc305"]}',NULL,'2026-11-15T20:40:00.460539Z','2026-11-15T20:40:00.460539Z','2026-11-15T20:40:00.460539Z','2026-11-15T20:40:00.460539Z',0,1,0,NULL,NULL,'',1);
INSERT INTO "memory_records" VALUES('01a1e0f0-32d9-7508-ae05-39ff233c9c76','main',NULL,'second epoch','','conversation','message',NULL,0.5,1,'[]','t',1,'{"kind":"message","trust":"user","references":["01a1e0f0-32d9-7508-ae05-39ff233c9c76"]}',NULL,'2026-11-15T20:40:00.473253Z','2026-11-15T20:40:00.473253Z','2026-11-15T20:40:00.473253Z','2026-11-15T20:40:00.473253Z',0,1,0,NULL,NULL,'',1);
CREATE TABLE memory_tag_rel (
	memory_id TEXT NOT NULL, 
	tag_id INTEGER NOT NULL, 
	scope TEXT NOT NULL, 
	PRIMARY KEY (memory_id, tag_id), 
	FOREIGN KEY(memory_id) REFERENCES memory_records (id) ON DELETE CASCADE, 
	FOREIGN KEY(tag_id) REFERENCES memory_tags (id)
);
INSERT INTO "memory_tag_rel" VALUES('01a1e0f0-27ff-77c3-be5d-679407bcb941',2,'alice');
INSERT INTO "memory_tag_rel" VALUES('01a1e0f0-27ff-77c3-be5d-679407bcb941',1,'alice');
INSERT INTO "memory_tag_rel" VALUES('01a1e0f0-2b6b-744c-80bb-269edc58e785',3,'main');
CREATE TABLE memory_tags (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	name TEXT NOT NULL, 
	UNIQUE (name)
);
INSERT INTO "memory_tags" VALUES(1,'home');
INSERT INTO "memory_tags" VALUES(2,'猫');
INSERT INTO "memory_tags" VALUES(3,'tea');
CREATE TABLE note_files (
	workspace TEXT NOT NULL, 
	scope TEXT NOT NULL, 
	path TEXT NOT NULL, 
	size BIGINT NOT NULL, 
	modified BIGINT NOT NULL, 
	changed BIGINT NOT NULL, 
	inode BIGINT NOT NULL, 
	digest TEXT NOT NULL, 
	checked BIGINT NOT NULL, 
	shared BOOLEAN NOT NULL, 
	chunks INTEGER NOT NULL, 
	encoding TEXT NOT NULL, 
	problem TEXT NOT NULL, 
	PRIMARY KEY (workspace, scope, path)
);
CREATE TABLE runtime_memories (
	memory_id TEXT NOT NULL, 
	scope TEXT NOT NULL, 
	memory_type TEXT NOT NULL, 
	useful INTEGER NOT NULL, 
	missed INTEGER NOT NULL, 
	decayed_at TEXT, 
	PRIMARY KEY (memory_id), 
	FOREIGN KEY(memory_id) REFERENCES memory_records (id) ON DELETE CASCADE
);
INSERT INTO "runtime_memories" VALUES('01a1e0f0-2b6b-744c-80bb-269edc58e785','main','fact',0,0,NULL);
CREATE TABLE runtime_requests (
	scope TEXT NOT NULL, 
	request_id TEXT NOT NULL, 
	fingerprint TEXT NOT NULL, 
	outcome TEXT NOT NULL, 
	answered_at TEXT NOT NULL, 
	PRIMARY KEY (scope, request_id)
);
CREATE TABLE schema_migrations (
	version INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	applied_at TEXT NOT NULL, 
	applied_by TEXT NOT NULL, 
	PRIMARY KEY (version)
);
INSERT INTO "schema_migrations" VALUES(1,'first tables','2026-11-15T20:39:57.123222Z','0.1.0');
INSERT INTO "schema_migrations" VALUES(2,'the chat room','2026-11-15T20:39:57.133795Z','0.1.0');
INSERT INTO "schema_migrations" VALUES(3,'note files','2026-11-15T20:39:57.150768Z','0.1.0');
INSERT INTO "schema_migrations" VALUES(4,'long-term memory and background work','2026-11-15T20:39:57.155532Z','0.1.0');
INSERT INTO "schema_migrations" VALUES(5,'the runtime: scopes of tags, how memories fared, requests','2026-11-15T20:39:57.156496Z','0.1.0');
INSERT INTO "schema_migrations" VALUES(6,'fewer pages for each message','2026-11-15T20:39:57.157306Z','0.1.0');
CREATE TABLE store_meta (
	name TEXT NOT NULL, 
	value TEXT NOT NULL, 
	PRIMARY KEY (name)
);
INSERT INTO "store_meta" VALUES('store_id','01a1e0f0-25bc-794d-9fd0-19c6e872a5f2');
CREATE INDEX ix_memory_records_longterm ON memory_records (scope, created_at) WHERE domain IS NOT NULL;
CREATE INDEX ix_memory_records_inactive ON memory_records (scope, updated_at) WHERE is_active IS 0;
CREATE INDEX ix_memory_records_summarized ON memory_records (scope, summarized_by) WHERE summarized_by IS NOT NULL;
CREATE INDEX ix_memory_records_superseded ON memory_records (scope, superseded_by) WHERE superseded_by IS NOT NULL;
CREATE INDEX ix_memory_records_conversation ON memory_records (scope, conversation_id, position) WHERE conversation_id IS NOT NULL;
CREATE INDEX ix_memory_records_scope_event ON memory_records (scope, event_time);
CREATE INDEX ix_memory_records_scope_created ON memory_records (scope, created_at);
CREATE INDEX ix_memory_records_kinds ON memory_records (scope, memory_type, summarized_by, created_at) WHERE domain IS NOT NULL;
CREATE INDEX ix_memory_changes_key ON memory_changes (scope, "key") WHERE key IS NOT NULL;
CREATE INDEX ix_conversation_history_prompts ON conversation_history (scope, session_id, replaced_at, position) WHERE role IN ('system', 'developer');
CREATE INDEX ix_conversation_history_session ON conversation_history (scope, session_id, position);
CREATE INDEX ix_flush_candidates_session ON flush_candidates (scope, session_id, id);
CREATE INDEX ix_flush_candidates_state ON flush_candidates (scope, state, id);
CREATE INDEX ix_chat_compactions_session ON chat_compactions (scope, session_id, id);
CREATE INDEX ix_jobs_dedupe ON jobs (dedupe_key) WHERE dedupe_key IS NOT NULL;
CREATE INDEX ix_jobs_state ON jobs (state, scope, sequence);
CREATE INDEX ix_runtime_requests_answered ON runtime_requests (answered_at);
CREATE INDEX ix_memory_tag_rel_tag ON memory_tag_rel (tag_id, scope, memory_id);
CREATE INDEX ix_runtime_memories_scope ON runtime_memories (scope, memory_id);
CREATE INDEX ix_runtime_memories_type ON runtime_memories (scope, memory_type, memory_id);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('memory_changes',14);
INSERT INTO "sqlite_sequence" VALUES('memory_tags',3);
INSERT INTO "sqlite_sequence" VALUES('conversation_history',9);
INSERT INTO "sqlite_sequence" VALUES('jobs',1);
COMMIT;
