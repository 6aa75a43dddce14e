-- An owner can say that a machine is busy with something of their own: it keeps what it has and is given nothing new,
-- whatever its agent says, until the owner says that it is free.
ALTER TABLE machine ADD COLUMN paused boolean NOT NULL DEFAULT false;
