-- The column counts all losses of a job, whatever attempts came between them. Processes of an older version must have stopped.

ALTER TABLE job RENAME COLUMN losses_in_a_row TO losses;
