BEGIN TRANSACTION;
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
INSERT INTO "conversation_history" VALUES(1,'main','s',0,'01a1de59-34b5-7e92-90d0-8f941f0d85f3','user','{"role":"user","content":"message 0"}','2026-11-15T08:35:50.581832Z',NULL);
INSERT INTO "conversation_history" VALUES(2,'main','s',1,'01a1de59-34b5-7f2b-b57a-28bceaace337','assistant','{"role":"assistant","content":"message 1"}','2026-11-15T08:35:50.581832Z',NULL);
INSERT INTO "conversation_history" VALUES(3,'main','s',2,'01a1de59-34b5-7f5a-9523-47b80061484d','user','{"role":"user","content":"message 2"}','2026-11-15T08:35:50.581832Z',NULL);
INSERT INTO "conversation_history" VALUES(4,'main','s',3,'01a1de59-34b5-7f8e-a741-796e2879643f','assistant','{"role":"assistant","content":"message 3"}','2026-11-15T08:35:50.581832Z',NULL);
INSERT INTO "conversation_history" VALUES(5,'main','s',4,'01a1de59-34b5-7fb1-9540-d8fc435f1ba2','user','{"role":"user","content":"message 4"}','2026-11-15T08:35:50.581832Z',NULL);
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
INSERT INTO "memory_changes" VALUES(1,'01a1de59-3485-73fc-8d76-e78131ea7bc0','main','city',1,'create','2026-11-15T08:35:50.533242Z','user','[]',NULL);
INSERT INTO "memory_changes" VALUES(2,'01a1de59-3485-73fc-8d76-e78131ea7bc0','main','city',2,'update','2026-11-15T08:35:50.544329Z','user','["content","tags"]','{"id":"01a1de59-3485-73fc-8d76-e78131ea7bc0","scope":"main","key":"city","content":"lives in Turin","category":"core","memory_type":"fact","domain":null,"reasoning":"","importance_score":0.5,"strength":1,"tags":["home","Italy"],"conversation_id":null,"position":null,"source":{"kind":"stored","trust":"user","references":[]},"occurred_at":null,"created_at":"2026-11-15T08:35:50.533242Z","updated_at":"2026-11-15T08:35:50.533242Z","last_accessed_at":"2026-11-15T08:35:50.533242Z","access_count":0,"is_active":true,"pinned":false,"version":1}');
INSERT INTO "memory_changes" VALUES(3,'01a1de59-3496-774b-9d03-c25eeba8d7d7','alice','猫',1,'create','2026-11-15T08:35:50.550447Z','user','[]',NULL);
INSERT INTO "memory_changes" VALUES(4,'01a1de59-34a2-7aa5-a8ef-4b9c4faa8bd9','main','gone',1,'create','2026-11-15T08:35:50.562656Z','user','[]',NULL);
INSERT INTO "memory_changes" VALUES(5,'01a1de59-34a2-7aa5-a8ef-4b9c4faa8bd9','main','gone',2,'forget','2026-11-15T08:35:50.571512Z','user','[]','{"id":"01a1de59-34a2-7aa5-a8ef-4b9c4faa8bd9","scope":"main","key":"gone","content":"forgotten","category":"core","memory_type":"fact","domain":null,"reasoning":"","importance_score":0.5,"strength":1,"tags":[],"conversation_id":null,"position":null,"source":{"kind":"stored","trust":"user","references":[]},"occurred_at":null,"created_at":"2026-11-15T08:35:50.562656Z","updated_at":"2026-11-15T08:35:50.562656Z","last_accessed_at":"2026-11-15T08:35:50.562656Z","access_count":0,"is_active":true,"pinned":false,"version":1}');
INSERT INTO "memory_changes" VALUES(6,'01a1de59-34b5-7e92-90d0-8f941f0d85f3','main',NULL,1,'create','2026-11-15T08:35:50.581832Z','user','[]',NULL);
INSERT INTO "memory_changes" VALUES(7,'01a1de59-34b5-7f2b-b57a-28bceaace337','main',NULL,1,'create','2026-11-15T08:35:50.581832Z','user','[]',NULL);
INSERT INTO "memory_changes" VALUES(8,'01a1de59-34b5-7f5a-9523-47b80061484d','main',NULL,1,'create','2026-11-15T08:35:50.581832Z','user','[]',NULL);
INSERT INTO "memory_changes" VALUES(9,'01a1de59-34b5-7f8e-a741-796e2879643f','main',NULL,1,'create','2026-11-15T08:35:50.581832Z','user','[]',NULL);
INSERT INTO "memory_changes" VALUES(10,'01a1de59-34b5-7fb1-9540-d8fc435f1ba2','main',NULL,1,'create','2026-11-15T08:35:50.581832Z','user','[]',NULL);
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
	version INTEGER NOT NULL, 
	PRIMARY KEY (id), 
	CONSTRAINT uq_memory_records_scope_key UNIQUE (scope, "key")
);
INSERT INTO "memory_records" VALUES('01a1de59-3485-73fc-8d76-e78131ea7bc0','main','city','lives in Oslo','','core','fact',NULL,0.5,1,'["home"]',NULL,NULL,'{"kind":"stored","trust":"user","references":[]}',NULL,'2026-11-15T08:35:50.533242Z','2026-11-15T08:35:50.533242Z','2026-11-15T08:35:50.544329Z','2026-11-15T08:35:50.533242Z',0,1,0,2);
INSERT INTO "memory_records" VALUES('01a1de59-3496-774b-9d03-c25eeba8d7d7','alice','猫','我家的猫叫年糕','','core','fact',NULL,0.5,1,'["猫","home"]',NULL,NULL,'{"kind":"stored","trust":"user","references":[]}',NULL,'2026-11-15T08:35:50.550447Z','2026-11-15T08:35:50.550447Z','2026-11-15T08:35:50.550447Z','2026-11-15T08:35:50.550447Z',0,1,0,1);
INSERT INTO "memory_records" VALUES('01a1de59-34b5-7e92-90d0-8f941f0d85f3','main',NULL,'message 0','','conversation','message',NULL,0.5,1,'[]','s',0,'{"kind":"message","trust":"user","references":["01a1de59-34b5-7e92-90d0-8f941f0d85f3"]}',NULL,'2026-11-15T08:35:50.581832Z','2026-11-15T08:35:50.581832Z','2026-11-15T08:35:50.581832Z','2026-11-15T08:35:50.581832Z',0,1,0,1);
INSERT INTO "memory_records" VALUES('01a1de59-34b5-7f2b-b57a-28bceaace337','main',NULL,'message 1','','conversation','message',NULL,0.5,1,'[]','s',1,'{"kind":"message","trust":"agent","references":["01a1de59-34b5-7f2b-b57a-28bceaace337"]}',NULL,'2026-11-15T08:35:50.581832Z','2026-11-15T08:35:50.581832Z','2026-11-15T08:35:50.581832Z','2026-11-15T08:35:50.581832Z',0,1,0,1);
INSERT INTO "memory_records" VALUES('01a1de59-34b5-7f5a-9523-47b80061484d','main',NULL,'message 2','','conversation','message',NULL,0.5,1,'[]','s',2,'{"kind":"message","trust":"user","references":["01a1de59-34b5-7f5a-9523-47b80061484d"]}',NULL,'2026-11-15T08:35:50.581832Z','2026-11-15T08:35:50.581832Z','2026-11-15T08:35:50.581832Z','2026-11-15T08:35:50.581832Z',0,1,0,1);
INSERT INTO "memory_records" VALUES('01a1de59-34b5-7f8e-a741-796e2879643f','main',NULL,'message 3','','conversation','message',NULL,0.5,1,'[]','s',3,'{"kind":"message","trust":"agent","references":["01a1de59-34b5-7f8e-a741-796e2879643f"]}',NULL,'2026-11-15T08:35:50.581832Z','2026-11-15T08:35:50.581832Z','2026-11-15T08:35:50.581832Z','2026-11-15T08:35:50.581832Z',0,1,0,1);
INSERT INTO "memory_records" VALUES('01a1de59-34b5-7fb1-9540-d8fc435f1ba2','main',NULL,'message 4','','conversation','message',NULL,0.5,1,'[]','s',4,'{"kind":"message","trust":"user","references":["01a1de59-34b5-7fb1-9540-d8fc435f1ba2"]}',NULL,'2026-11-15T08:35:50.581832Z','2026-11-15T08:35:50.581832Z','2026-11-15T08:35:50.581832Z','2026-11-15T08:35:50.581832Z',0,1,0,1);
CREATE TABLE memory_tag_rel (
	memory_id TEXT NOT NULL, 
	tag_id INTEGER NOT NULL, 
	PRIMARY KEY (memory_id, tag_id), 
	FOREIGN KEY(memory_id) REFERENCES memory_records (id) ON DELETE CASCADE, 
	FOREIGN KEY(tag_id) REFERENCES memory_tags (id)
);
INSERT INTO "memory_tag_rel" VALUES('01a1de59-3485-73fc-8d76-e78131ea7bc0',2);
INSERT INTO "memory_tag_rel" VALUES('01a1de59-3496-774b-9d03-c25eeba8d7d7',3);
INSERT INTO "memory_tag_rel" VALUES('01a1de59-3496-774b-9d03-c25eeba8d7d7',2);
CREATE TABLE memory_tags (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	name TEXT NOT NULL, 
	UNIQUE (name)
);
INSERT INTO "memory_tags" VALUES(1,'Italy');
INSERT INTO "memory_tags" VALUES(2,'home');
INSERT INTO "memory_tags" VALUES(3,'猫');
CREATE TABLE schema_migrations (
	version INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	applied_at TEXT NOT NULL, 
	applied_by TEXT NOT NULL, 
	PRIMARY KEY (version)
);
INSERT INTO "schema_migrations" VALUES(1,'first tables','2026-11-15T08:35:50.515071Z','0.1.0');
CREATE TABLE store_meta (
	name TEXT NOT NULL, 
	value TEXT NOT NULL, 
	PRIMARY KEY (name)
);
INSERT INTO "store_meta" VALUES('store_id','01a1de59-3468-72be-8a6d-5bb39055c02c');
INSERT INTO "store_meta" VALUES('user_words','["年糕糕"]');
CREATE INDEX ix_memory_records_conversation ON memory_records (scope, conversation_id, position) WHERE conversation_id IS NOT NULL;
CREATE INDEX ix_memory_records_scope_created ON memory_records (scope, created_at);
CREATE INDEX ix_memory_records_active_strength ON memory_records (is_active, strength);
CREATE INDEX ix_memory_records_scope_event ON memory_records (scope, event_time);
CREATE INDEX ix_memory_changes_key ON memory_changes (scope, "key");
CREATE INDEX ix_conversation_history_session ON conversation_history (scope, session_id, position);
CREATE INDEX ix_memory_tag_rel_tag ON memory_tag_rel (tag_id, memory_id);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('memory_changes',10);
INSERT INTO "sqlite_sequence" VALUES('memory_tags',3);
INSERT INTO "sqlite_sequence" VALUES('conversation_history',5);
COMMIT;
