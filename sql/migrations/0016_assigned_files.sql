-- The files of a job that are so few and so small that they travel with its assignment, or null: then the machine asks for them.
CREATE FUNCTION job_small_files(job uuid, files_max int, bytes_max int) RETURNS jsonb LANGUAGE sql STABLE
AS $$
  SELECT CASE WHEN count(*) BETWEEN 1 AND files_max AND count(inline_bytes) = count(*) AND sum(size_bytes) <= bytes_max
         THEN jsonb_agg(jsonb_build_object('path', path, 'base64', translate(encode(inline_bytes, 'base64'), E'\n', ''))) END
  FROM job_file WHERE job_id = job AND role IN ('code', 'data')
$$;
