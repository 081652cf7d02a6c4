#include "noisefloor/engine/duckdb_library.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <string>
#include <system_error>
#include <vector>

namespace noisefloor::engine::duckdb {
namespace {

constexpr const char* kFile = "libduckdb.so";

std::vector<std::string> places() {
  std::vector<std::string> files;
  if (const char* stated = std::getenv("NOISEFLOOR_DUCKDB"); stated != nullptr && *stated != 0) {
    return {stated};  // that one or none
  }
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error) {
    files.push_back(program.parent_path().parent_path() / "lib" / "noisefloor" / kFile);
    for (std::filesystem::path folder = program.parent_path(); folder.has_relative_path();
         folder = folder.parent_path()) {
      if (folder.filename() == "build") files.push_back(folder / "duckdb" / kFile);
    }
  }
  std::erase_if(files, [](const std::string& file) {
    std::error_code ignored;
    return !std::filesystem::exists(file, ignored);
  });
  files.emplace_back(kFile);
  return files;
}

template <class F>
bool find(void* handle, const char* name, F& function) {
  function = reinterpret_cast<F>(::dlsym(handle, name));
  return function != nullptr;
}

bool find_all(void* handle, Library& all) {
  const auto named = [&](const char* name, auto& function) { return find(handle, name, function); };
  return named("duckdb_open_ext", all.open_ext) && named("duckdb_close", all.close) &&
         named("duckdb_connect", all.connect) && named("duckdb_disconnect", all.disconnect) &&
         named("duckdb_create_config", all.create_config) && named("duckdb_set_config", all.set_config) &&
         named("duckdb_destroy_config", all.destroy_config) && named("duckdb_free", all.release) &&
         named("duckdb_query", all.query) && named("duckdb_destroy_result", all.destroy_result) &&
         named("duckdb_result_error", all.result_error) && named("duckdb_column_count", all.column_count) &&
         named("duckdb_column_type", all.column_type) && named("duckdb_prepare", all.prepare) &&
         named("duckdb_destroy_prepare", all.destroy_prepare) &&
         named("duckdb_pending_prepared_streaming", all.pending_prepared_streaming) &&
         named("duckdb_execute_pending", all.execute_pending) && named("duckdb_destroy_pending", all.destroy_pending) &&
         named("duckdb_fetch_chunk", all.fetch_chunk) && named("duckdb_destroy_data_chunk", all.destroy_data_chunk) &&
         named("duckdb_data_chunk_get_size", all.data_chunk_get_size) &&
         named("duckdb_data_chunk_get_vector", all.data_chunk_get_vector) &&
         named("duckdb_vector_get_data", all.vector_get_data) &&
         named("duckdb_vector_get_validity", all.vector_get_validity) && named("duckdb_interrupt", all.interrupt) &&
         named("duckdb_appender_create", all.appender_create) &&
         named("duckdb_appender_end_row", all.appender_end_row) && named("duckdb_appender_close", all.appender_close) &&
         named("duckdb_appender_destroy", all.appender_destroy) && named("duckdb_append_int64", all.append_int64) &&
         named("duckdb_append_double", all.append_double) && named("duckdb_append_bool", all.append_bool) &&
         named("duckdb_append_varchar_length", all.append_varchar_length) &&
         named("duckdb_append_null", all.append_null);
}

}  // namespace

Result<const Library*> library() {
  static std::mutex mutex;
  static Library loaded;
  static bool is_loaded = false;
  const std::lock_guard lock(mutex);
  if (is_loaded) return &loaded;
  for (const std::string& file : places()) {
    void* handle = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) continue;
    if (find_all(handle, loaded)) {
      is_loaded = true;
      return &loaded;  // it stays loaded
    }
    ::dlclose(handle);
  }
  return invalid_argument(
      "DuckDB is not installed: put its libduckdb.so (1.4 or later) where the system finds it, or name the file in the "
      "environment variable NOISEFLOOR_DUCKDB; `scripts/bootstrap duckdb` fetches it");
}

}  // namespace noisefloor::engine::duckdb
