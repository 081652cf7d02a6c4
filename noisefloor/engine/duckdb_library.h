// Internal to engine/: the functions of libduckdb.so, which is loaded when it is first needed.
//
// It is looked for as $NOISEFLOOR_DUCKDB (a file), in the folder lib/noisefloor beside the program's, in build/duckdb
// above the program's folder (where scripts/bootstrap puts it), and where the system has its libraries.
//
// The declarations are those of DuckDB's C interface 1.x, as far as they are used.
#pragma once

#include <cstdint>

#include "noisefloor/base/result.h"

namespace noisefloor::engine::duckdb {

using Handle = void*;  // a database, connection, statement, chunk, vector, …
using Index = std::uint64_t;

struct RawResult {
  Index column_count;
  Index row_count;
  Index rows_changed;
  void* columns;
  char* error_message;
  void* internal;
};

// A text in a vector: up to 12 bytes are in place; of longer ones, the last 8 of these bytes are a pointer.
struct RawText {
  std::uint32_t length;
  char bytes[12];
};
static_assert(sizeof(RawText) == 16);

enum ColumnType : int { kBoolean = 1, kBigint = 5, kDouble = 11, kVarchar = 17 };

struct Library {
  int (*open_ext)(const char*, Handle*, Handle, char**);
  void (*close)(Handle*);
  int (*connect)(Handle, Handle*);
  void (*disconnect)(Handle*);
  int (*create_config)(Handle*);
  int (*set_config)(Handle, const char*, const char*);
  void (*destroy_config)(Handle*);
  void (*release)(void*);
  int (*query)(Handle, const char*, RawResult*);
  void (*destroy_result)(RawResult*);
  const char* (*result_error)(RawResult*);
  Index (*column_count)(RawResult*);
  int (*column_type)(RawResult*, Index);
  int (*prepare)(Handle, const char*, Handle*);
  void (*destroy_prepare)(Handle*);
  int (*pending_prepared_streaming)(Handle, Handle*);
  int (*execute_pending)(Handle, RawResult*);
  void (*destroy_pending)(Handle*);
  Handle (*fetch_chunk)(RawResult);
  void (*destroy_data_chunk)(Handle*);
  Index (*data_chunk_get_size)(Handle);
  Handle (*data_chunk_get_vector)(Handle, Index);
  void* (*vector_get_data)(Handle);
  std::uint64_t* (*vector_get_validity)(Handle);
  void (*interrupt)(Handle);
  int (*appender_create)(Handle, const char*, const char*, Handle*);
  int (*appender_end_row)(Handle);
  int (*appender_close)(Handle);
  int (*appender_destroy)(Handle*);
  int (*append_int64)(Handle, std::int64_t);
  int (*append_double)(Handle, double);
  int (*append_bool)(Handle, bool);
  int (*append_varchar_length)(Handle, const char*, Index);
  int (*append_null)(Handle);
};

// kInvalidArgument if it is not installed, with what installs it.
[[nodiscard]] Result<const Library*> library();

}  // namespace noisefloor::engine::duckdb
