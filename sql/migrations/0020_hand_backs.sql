-- Attempts that machines gave back because they could not go on: a job that no machine can run must end some day.
ALTER TABLE job ADD COLUMN hand_backs_in_a_row integer NOT NULL DEFAULT 0,
                ADD CONSTRAINT job_hand_backs_are_bounded CHECK (hand_backs_in_a_row BETWEEN 0 AND 20);
